// Rules of every family that multiplies tiles of C by slices of k: about the grid, tiles that would be half empty, and
// what warpgroups need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <abi/packed_strips.h>

#include "base/checked.hpp"
#include "ops/grid.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::ops::of_tiles {

/// Columns of C that a block computes.
template <class Config>
constexpr int columns(const Config& config) {
  if constexpr (requires { tile_columns(config); }) return tile_columns(config);
  else return config.tile_columns;
}

template <class Case>
inline constexpr Rule<Case> every_slice_has_blocks = {
    "k has fewer blocks of 64 than k_split has slices", [](const Case& c) {
      const std::int64_t blocks = packed_k_blocks(c.query.statistics.cols);
      return c.config.k_split > 1 && (c.config.k_split - 1) * ceil_div(blocks, c.config.k_split) >= blocks;
    }};

template <class Case>
inline constexpr Rule<Case> grid_holds_tiles = {
    "the grid's x holds fewer tiles than there are", [](const Case& c) {
      return ceil_div(c.query.statistics.rows, tile_rows(c.config)) >
             most_blocks_on_x / std::max<std::int64_t>(1, ceil_div(c.query.n.most, columns(c.config)));
    }};

template <class Case>
inline constexpr Rule<Case> grid_holds_slices = {
    "the grid's y and z hold fewer slices than the batch has",
    [](const Case& c) { return c.query.problem.batch > most_blocks_on_y * most_blocks_on_y / c.config.k_split; }};

/// `Most` columns may be empty but for one.
template <class Case, int Most = 8>
inline constexpr Rule<Case> columns_are_filled = {
    "half of the tile's columns or more would lie past the last one",
    [](const Case& c) { return columns(c.config) > Most && columns(c.config) >= 2 * c.query.n.most; }};

template <class Case>
inline constexpr Rule<Case> strips_are_filled = {
    "half of the tile's strips, of more than two, would lie past the last row", [](const Case& c) {
      return tile_rows(c.config) > 2 * packed_strip_rows() && tile_rows(c.config) >= 2 * c.query.statistics.rows;
    }};

/// Of kernels from sm_80 on.
template <class Case>
inline constexpr Rule<Case> stages_fit = {"the stages do not fit the device's shared memory", [](const Case& c) {
                                            return shared_bytes(c.traits, c.config) >
                                                   most_shared_bytes(c.query.device, block_shared_bytes_of_sm_80);
                                          }};

/// Bytes of the sums of slices, from which on a config is refused.
inline constexpr std::int64_t most_partial_bytes = std::int64_t{512} << 20;
inline constexpr const char* partial_bytes_reason = "the sums of slices would take more than 512 MiB";

}  // namespace vostok::ops::of_tiles

/// Rules of the families whose warpgroups multiply (wgmma).
namespace vostok::ops::of_warpgroups {

/// Registers available to a thread that multiplies.
template <class Config>
int register_limit(const Config& config) {
  return exchanges_registers(config) ? gained_registers(config) : launch_registers(config);
}

template <class Case>
inline constexpr Rule<Case> threads_fit = {
    "min_blocks blocks have more threads than a multiprocessor runs", [](const Case& c) {
      return (threads(c.config) + 127) / 128 * 128 * c.config.min_blocks > multiprocessor_of_sm_90.threads;
    }};

/// ptxas refuses a multiplication whose operands do not fit those, however many a warpgroup takes over later (C7602).
template <class Case>
inline constexpr Rule<Case> operands_fit = {
    "a multiplication's operands do not fit the registers that threads are launched with",
    [](const Case& c) { return c.config.tile_columns / 2 + 24 >= launch_registers(c.config); }};

template <class Case>
inline constexpr Rule<Case> stages_fit = {
    "the stages do not fit the device's shared memory", [](const Case& c) {
      const std::int64_t bytes = shared_bytes(c.traits, c.config);
      return bytes > most_shared_bytes(c.query.device, block_shared_bytes_of_sm_90) ||
             c.config.min_blocks * (bytes + reserved_shared_bytes) >
                 multiprocessor_of(c.query.device, multiprocessor_of_sm_90).shared_bytes;
    }};

}  // namespace vostok::ops::of_warpgroups
