// Rules of the families that compute dense products of a mask's tiles on tensor cores.
#pragma once

#include "ops/grid.hpp"
#include "ops/rules.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/topology/tile_lists.hpp"

namespace vostok::ops::sampled {

template <class Case>
inline constexpr Rule<Case> mode_serves = {
    "mode is f16x1 or bf16x1 for 16-bit elements; for f32 f16x3, or bf16x3 or f16x1 under math = tf32",
    [](const Case& c) { return !serves(c.query, c.config.mode); }};

template <class Case>
inline constexpr Rule<Case> every_part_has_blocks = {
    "n has fewer blocks of 64 than n_split has parts",
    [](const Case& c) { return has_empty_parts(c.query, c.config.n_split); }};

template <class Case>
inline constexpr Rule<Case> grid_holds_parts = {
    "the grid's y and z hold fewer parts than the batch has",
    [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y / c.config.n_split; }};

template <class Case>
inline constexpr Rule<Case> mask_has_lists = {
    "the mask has no lists of such tiles",
    [](const Case& c) { return tile_lists_declined(c.query.statistics, tile_shape(c.config)).has_value(); }};

}  // namespace vostok::ops::sampled
