// Adds rules to those of kernels that read CSR values of A and B in place (dense_rules, abi/csr_product.h): what their
// families have in common.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "base/checked.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"
#include "ops/spmm/csr_product.hpp"

namespace vostok::ops::csr_product {

template <class Config>
using Case = ops::Case<SpmmQuery, CsrProductTraits, Config>;

template <class Config>
using Rule = ops::Rule<Case<Config>>;

/// Columns of one lane.
template <class Config>
std::int64_t lane_values(const Config& config) {
  return config.tile_columns / config.threads_per_row;
}

/// Registers of a thread that min_blocks allows.
template <class Config>
int register_limit(const Case<Config>& c) {
  return registers_of_thread(threads(c.config), c.config.min_blocks);
}

/// Lower bound on the registers for sums and for loads of rows of B for so many entries; addresses and counters need a
/// dozen more.
template <class Config>
std::int64_t registers_needed(const Case<Config>& c, int entries_in_flight) {
  const std::int64_t entry_registers = lane_values(c.config) / c.config.dense_vector *
                                       ceil_div(std::int64_t{c.config.dense_vector} * size_of(c.traits.element), 4);
  return entry_registers * entries_in_flight + lane_values(c.config) * (keeps_totals(c.traits, c.config) ? 2 : 1) + 12;
}

/// Limits of a block and a grid.
template <class Config>
inline constexpr std::array resource_rules = {
    Rule<Config>{"dense_vector does not divide n",
                 [](const Case<Config>& c) { return c.query.n.divisor() % c.config.dense_vector != 0; }},
    Rule<Config>{"column_edge unchecked needs an n that tile_columns divides",
                 [](const Case<Config>& c) {
                   return c.config.column_edge == ColumnEdge::unchecked &&
                          c.query.n.divisor() % c.config.tile_columns != 0;
                 }},
    Rule<Config>{"the grid's x holds fewer column tiles than there are",
                 [](const Case<Config>& c) {
                   return c.config.raster == Raster::columns_first &&
                          ceil_div(c.query.n.most, c.config.tile_columns) > std::numeric_limits<std::int32_t>::max();
                 }},
    Rule<Config>{"min_blocks blocks have more threads than a multiprocessor runs",
                 [](const Case<Config>& c) {
                   return threads(c.config) * c.config.min_blocks >
                          multiprocessor_of(c.query.device, least_multiprocessor).threads;
                 }},
    Rule<Config>{"half of tile_columns or more would lie past the last column",
                 [](const Case<Config>& c) {
                   return c.config.tile_columns > c.config.dense_vector && c.config.tile_columns >= 2 * c.query.n.most;
                 }},
};

}  // namespace vostok::ops::csr_product
