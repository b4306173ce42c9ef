// Rules shared by the families that read CSR values of A and B in place: each a reason and when it holds.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "base/checked.hpp"
#include "ops/spmm/csr_product.hpp"

namespace vostok::ops::csr_product {

template <class Config>
struct Case {
  const SpmmQuery& query;
  CsrProductTraits traits;
  const Config& config;

  /// Columns of one lane.
  std::int64_t lane_values() const { return config.tile_columns / config.threads_per_row; }
};

template <class Config>
struct Rule {
  const char* reason;
  bool (*breaks)(const Case<Config>&);
};

constexpr bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }
constexpr bool is_power_of_two_up_to(int value, int most) { return is_power_of_two(value) && value <= most; }

inline int threads_per_multiprocessor(const SpmmQuery& query) { return query.device != nullptr ? query.device->threads_per_multiprocessor() : 1024; }

/// Registers of a thread that min_blocks allows.
template <class Config>
int register_limit(const Case<Config>& c) {
  return std::min(255, 64 * 1024 / (threads(c.config) * c.config.min_blocks));
}

/// Lower bound on the registers for sums and for loads of rows of B for so many entries; addresses and counters need a dozen more.
template <class Config>
std::int64_t registers_needed(const Case<Config>& c, int entries_in_flight) {
  const std::int64_t entry_registers =
      c.lane_values() / c.config.dense_vector * ceil_div(std::int64_t{c.config.dense_vector} * size_of(c.traits.element), 4);
  return entry_registers * entries_in_flight + c.lane_values() * (keeps_totals(c.traits, c.config) ? 2 : 1) + 12;
}

/// How operands are loaded and stored. Independent of the other groups of rules.
template <class Config>
inline constexpr std::array operand_rules = {
    Rule<Config>{"dense_vector is a power of two of at most 16 bytes, sparse_vector one of at most 8",
                 [](const Case<Config>& c) {
                   if constexpr (requires { c.config.sparse_vector; })
                     if (!is_power_of_two_up_to(c.config.sparse_vector, 8)) return true;
                   return !is_power_of_two_up_to(c.config.dense_vector, 16 / size_of(c.traits.element));
                 }},
    Rule<Config>{"prepare_dense transposes a column-major B, and pack_values the values of a transposed A",
                 [](const Case<Config>& c) {
                   return (c.config.prepare_dense && c.traits.dense_layout != Layout::column_major) ||
                          (c.config.pack_values && !c.traits.gathered_values);
                 }},
    Rule<Config>{"a B that is read as columns has no neighbouring columns: dense_vector is 1",
                 [](const Case<Config>& c) { return reads_columns(c.traits, c.config) && c.config.dense_vector != 1; }},
    Rule<Config>{"dense_vector is wider than the alignment of B's rows",
                 [](const Case<Config>& c) { return c.config.dense_vector * size_of(c.traits.element) > read_alignment(c.traits, c.config); }},
    Rule<Config>{"dense_vector is wider than the alignment of C's rows",
                 [](const Case<Config>& c) {
                   return c.traits.output_layout == Layout::row_major && store_alignment(c.traits, c.config) > c.traits.output_alignment;
                 }},
    Rule<Config>{"dense_vector does not divide n", [](const Case<Config>& c) { return c.query.n.divisor() % c.config.dense_vector != 0; }},
};

/// Limits of a block and a grid. These rely on a shape of whole warps, and on operand_rules.
template <class Config>
inline constexpr std::array resource_rules = {
    Rule<Config>{"tile_columns is a multiple of threads_per_row * dense_vector",
                 [](const Case<Config>& c) {
                   return c.config.tile_columns < 1 || c.config.tile_columns % (c.config.threads_per_row * c.config.dense_vector) != 0;
                 }},
    Rule<Config>{
        "column_edge unchecked needs an n that tile_columns divides",
        [](const Case<Config>& c) { return c.config.column_edge == ColumnEdge::unchecked && c.query.n.divisor() % c.config.tile_columns != 0; }},
    Rule<Config>{"the grid's x holds fewer column tiles than there are",
                 [](const Case<Config>& c) {
                   return c.config.raster == Raster::columns_first &&
                          ceil_div(c.query.n.most, c.config.tile_columns) > std::numeric_limits<std::int32_t>::max();
                 }},
    Rule<Config>{"min_blocks is at least 1, and that many blocks have more threads than a multiprocessor runs",
                 [](const Case<Config>& c) {
                   return c.config.min_blocks < 1 || c.config.min_blocks > 32 ||
                          threads(c.config) * c.config.min_blocks > threads_per_multiprocessor(c.query);
                 }},
    Rule<Config>{"half of tile_columns or more would lie past the last column",
                 [](const Case<Config>& c) { return c.config.tile_columns > c.config.dense_vector && c.config.tile_columns >= 2 * c.query.n.most; }},
};

}  // namespace vostok::ops::csr_product
