// The rules of row_tile: each a reason and when it holds. They guard the kernel's own static_asserts and what only the
// problem or the device knows, and they leave out what cannot be fast.
#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/row_tile.hpp"

namespace vostok::ops::row_tile {

namespace {

struct Case {
  const SpmmQuery& query;
  RowTileTraits traits;
  const RowTileConfig& config;

  std::int64_t lane_values() const { return config.tile_columns / config.threads_per_row; }
};

struct Rule {
  const char* reason;
  bool (*breaks)(const Case&);
};

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

bool is_power_of_two_up_to(int value, int most) { return is_power_of_two(value) && value <= most; }

/// Limits of every GPU since sm_75 stand in where a query names no device.
int most_shared_bytes(const Case& c) { return c.query.device != nullptr ? c.query.device->max_shared_bytes() : 48 * 1024; }
int threads_per_multiprocessor(const Case& c) { return c.query.device != nullptr ? c.query.device->threads_per_multiprocessor() : 1024; }

/// Registers that min_blocks leaves a thread.
int register_limit(const Case& c) { return std::min(255, 64 * 1024 / (threads(c.config) * c.config.min_blocks)); }

/// Registers that loads in flight and sums take at least; addresses and counters need a dozen more.
std::int64_t registers_needed(const Case& c) {
  const int batches = std::max(c.config.loads_in_flight, c.config.residue_unroll);
  const std::int64_t batch_registers =
      c.lane_values() / c.config.dense_vector * ceil_div(std::int64_t{c.config.dense_vector} * size_of(c.traits.element), 4);
  return batch_registers * batches + c.lane_values() * (c.traits.blocked_sum ? 2 : 1) + 12;
}

/// Tiles of the whole batch in the direction that varies slowly.
std::int64_t slow_tiles(const Case& c) {
  const bool rows_first = c.config.raster == Raster::rows_first;
  return (rows_first ? ceil_div(c.query.n.most, c.config.tile_columns) : ceil_div(c.query.statistics.rows, c.config.tile_rows)) *
         c.query.problem.batch;
}

/// Ordered so that each may rely on those before it. The first group is the kernel's own.
constexpr std::array rules = {
    Rule{"threads_per_row and row_split are powers of two of at most 32",
         [](const Case& c) { return !is_power_of_two_up_to(c.config.threads_per_row, 32) || !is_power_of_two_up_to(c.config.row_split, 32); }},
    Rule{"the subwarps of a row lie in one warp: threads_per_row * row_split is at most 32",
         [](const Case& c) { return lanes_per_row(c.config) > 32; }},
    Rule{
        "a block has 1 to 32 whole warps",
        [](const Case& c) { return c.config.tile_rows < 1 || c.config.tile_rows > 1024 || threads(c.config) % 32 != 0 || threads(c.config) > 1024; }},
    Rule{"dense_vector is a power of two of at most 16 bytes, sparse_vector one of at most 8",
         [](const Case& c) {
           return !is_power_of_two_up_to(c.config.dense_vector, 16 / size_of(c.traits.element)) || !is_power_of_two_up_to(c.config.sparse_vector, 8);
         }},
    Rule{"prepare_dense transposes a column-major B, and pack_values the values of a transposed A",
         [](const Case& c) {
           return (c.config.prepare_dense && c.traits.dense_layout != Layout::column_major) || (c.config.pack_values && !c.traits.gathered_values);
         }},
    Rule{"a B that is read as columns has no neighbouring columns: dense_vector is 1",
         [](const Case& c) { return reads_columns(c.traits, c.config) && c.config.dense_vector != 1; }},
    Rule{"dense_vector is wider than the alignment of B's rows",
         [](const Case& c) { return c.config.dense_vector * size_of(c.traits.element) > read_alignment(c.traits, c.config); }},
    Rule{
        "dense_vector is wider than the alignment of C's rows",
        [](const Case& c) { return c.traits.output_layout == Layout::row_major && store_alignment(c.traits, c.config) > c.traits.output_alignment; }},
    Rule{"dense_vector does not divide n", [](const Case& c) { return c.query.n.divisor() % c.config.dense_vector != 0; }},
    Rule{"rows start anywhere: a sparse_vector above 1 needs reverse_offset_alignment",
         [](const Case& c) { return c.config.sparse_vector > 1 && !c.config.reverse_offset_alignment; }},
    Rule{"tile_columns is a multiple of threads_per_row * dense_vector",
         [](const Case& c) { return c.config.tile_columns < 1 || c.config.tile_columns % (c.config.threads_per_row * c.config.dense_vector) != 0; }},
    Rule{"tile_nonzeros is a power of two, at least 4 and sparse_vector, and 1 to 256 for each of row_split lanes",
         [](const Case& c) {
           return !is_power_of_two_up_to(c.config.tile_nonzeros, 8192) ||
                  c.config.tile_nonzeros < std::max({c.config.row_split, c.config.sparse_vector, 4}) || entries_per_lane(c.config) > 256;
         }},
    Rule{"loads_in_flight and residue_unroll are powers of two that divide a lane's entries per step",
         [](const Case& c) {
           const int most = entries_per_lane(c.config);
           return !is_power_of_two_up_to(c.config.loads_in_flight, most) || !is_power_of_two_up_to(c.config.residue_unroll, most);
         }},
    Rule{"deal_rows spreads the order of length: it needs row_swizzle", [](const Case& c) { return c.config.deal_rows && !c.config.row_swizzle; }},
    Rule{"column_edge unchecked needs an n that tile_columns divides",
         [](const Case& c) { return c.config.column_edge == ColumnEdge::unchecked && c.query.n.divisor() % c.config.tile_columns != 0; }},
    Rule{"math = strict keeps the order of a row's products: row_split is 1",
         [](const Case& c) { return c.query.problem.math == Math::strict && c.config.row_split > 1; }},
    Rule{"the grid's x holds fewer column tiles than there are",
         [](const Case& c) {
           return c.config.raster == Raster::columns_first &&
                  ceil_div(c.query.n.most, c.config.tile_columns) > std::numeric_limits<std::int32_t>::max();
         }},
    Rule{"the grid's y and z hold fewer tiles than the batch has", [](const Case& c) { return slow_tiles(c) > most_blocks_on_y * most_blocks_on_y; }},
    Rule{"the staged entries do not fit the device's shared memory",
         [](const Case& c) { return shared_bytes(c.traits, c.config) > most_shared_bytes(c); }},
    Rule{"min_blocks is at least 1, and that many blocks have more threads than a multiprocessor runs",
         [](const Case& c) {
           return c.config.min_blocks < 1 || c.config.min_blocks > 32 || threads(c.config) * c.config.min_blocks > threads_per_multiprocessor(c);
         }},
    Rule{"the loads in flight do not fit the registers that min_blocks leaves",
         [](const Case& c) { return registers_needed(c) > register_limit(c); }},
    Rule{"half of tile_columns or more would lie past the last column",
         [](const Case& c) { return c.config.tile_columns > c.config.dense_vector && c.config.tile_columns >= 2 * c.query.n.most; }},
};

}  // namespace

std::optional<std::string> forbidden(const SpmmQuery& query, const RowTileConfig& config) {
  const Case c{query, traits(query), config};
  for (const Rule& rule : rules)
    if (rule.breaks(c)) return rule.reason;
  return std::nullopt;
}

}  // namespace vostok::ops::row_tile
