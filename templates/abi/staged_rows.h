// staged_rows, SpMM with panels of B in shared memory: what host and kernels share.
#pragma once

#include "abi/csr_product.h"

namespace vostok {

using StagedRowsTraits = CsrProductTraits;

/// The tunables.
struct StagedRowsConfig {
  int panel_rows = 256;      ///< rows of B in a panel (abi/panels.h)
  int tile_columns = 64;     ///< columns of B and C of a block
  int threads_per_row = 16;  ///< lanes of a row of A, side by side along the columns
  int dense_vector = 4;      ///< elements per copy and load of B and store of C
  int warps = 16;
  int rows_per_lane =
      4;               ///< rows that the lanes of a row take one after another in each panel, and whose sums they keep
  int row_rounds = 1;  ///< tiles of rows that a block takes one after another while B stays in shared memory: where it
                       ///< is more than one, all of k is one panel
  int stages = 3;      ///< panels in shared memory
  int tile_nonzeros = 32;      ///< entries of a row that are staged at once
  int loads_in_flight = 8;     ///< entries whose elements of B are loaded before the first of them is used
  int filled_entries = 1;      ///< rows abreast are filled up with entries of no value to the longest of them, in whole
                               ///< batches of that many: none waits for the others' branches. 1: they are not
  int k_split = 1;             ///< slices of panels, added by another launch in their order
  bool row_swizzle = true;     ///< rows in order of length, dealt so that all warps have as much to do
  int min_blocks = 1;          ///< blocks per multiprocessor that registers must allow
  bool prepare_dense = false;  ///< a column-major B is transposed into the workspace first
  bool pack_values = false;    ///< the values of a transposed A are gathered into the workspace first, not in the load
  ColumnEdge column_edge = ColumnEdge::clamped;
  Raster raster = Raster::rows_first;
  bool stream_output = false;  ///< C is stored as data that will not be read soon

  friend constexpr bool operator==(const StagedRowsConfig&, const StagedRowsConfig&) = default;
};

/// Of the launch that adds slices.
struct StagedRowsSumConfig {
  int rows = 8;  ///< of a block
  int tile_columns = 64;
  int threads_per_row = 16;
  int dense_vector = 4;
  ColumnEdge column_edge = ColumnEdge::clamped;
  Raster raster = Raster::rows_first;
  bool stream_output = false;
};

struct StagedRowsArgs {
  CsrProductArgs product;
  const int* row_order;     ///< m rows by length, longest first; read only with row_swizzle
  const int* panel_starts;  ///< [panels + 1, m]
  float* partial;           ///< sums of slices, [batch, k_split, m, partial_leading]; null where k is whole
  long long partial_leading;
  long long k;
  unsigned panels;
  unsigned slice_panels;  ///< of a slice; the last one may have fewer, or none
  unsigned row_tiles;
  unsigned row_groups;  ///< of row_rounds tiles, which a block takes
  unsigned slices;
};

template <FieldsOf<StagedRowsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("panel_rows", config.panel_rows);
  visit("tile_columns", config.tile_columns);
  visit("threads_per_row", config.threads_per_row);
  visit("dense_vector", config.dense_vector);
  visit("warps", config.warps);
  visit("rows_per_lane", config.rows_per_lane);
  visit("row_rounds", config.row_rounds);
  visit("stages", config.stages);
  visit("tile_nonzeros", config.tile_nonzeros);
  visit("loads_in_flight", config.loads_in_flight);
  visit("filled_entries", config.filled_entries);
  visit("k_split", config.k_split);
  visit("row_swizzle", config.row_swizzle);
  visit("min_blocks", config.min_blocks);
  visit("prepare_dense", config.prepare_dense);
  visit("pack_values", config.pack_values);
  visit("column_edge", config.column_edge);
  visit("raster", config.raster);
  visit("stream_output", config.stream_output);
}

template <FieldsOf<StagedRowsSumConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("rows", config.rows);
  visit("tile_columns", config.tile_columns);
  visit("threads_per_row", config.threads_per_row);
  visit("dense_vector", config.dense_vector);
  visit("column_edge", config.column_edge);
  visit("raster", config.raster);
  visit("stream_output", config.stream_output);
}

constexpr int lanes_per_row(const StagedRowsConfig& config) { return config.threads_per_row; }
constexpr int threads(const StagedRowsConfig& config) { return 32 * config.warps; }
constexpr int threads(const StagedRowsSumConfig& config) { return config.rows * config.threads_per_row; }

/// Rows of A that a warp takes at a time, and those of a block.
constexpr int rows_abreast(const StagedRowsConfig& config) { return 32 / config.threads_per_row; }
constexpr int tile_rows(const StagedRowsConfig& config) {
  return config.warps * rows_abreast(config) * config.rows_per_lane;
}

/// Whether B stays in shared memory while a block goes through its tiles of rows.
constexpr bool dense_stays(const StagedRowsConfig& config) { return config.row_rounds > 1; }

/// Rows whose first entries are on their way before they are asked for: two, where threads have the registers. They
/// take turns, so that the rows of a lane are even.
constexpr int rows_ahead(const StagedRowsConfig& config) {
  constexpr int registers = 65536;  // of an SM
  constexpr int least = 96;
  const bool fits = registers / (threads(config) * config.min_blocks) >= least;
  return dense_stays(config) && config.rows_per_lane % 2 == 0 && fits ? 2 : 1;
}

/// Shared memory of a panel, and of a row's staged entries: an offset into the panels and a value each, and 16 bytes
/// that spread the rows of a warp over the banks.
constexpr int panel_bytes(const StagedRowsTraits& traits, const StagedRowsConfig& config) {
  return config.panel_rows * config.tile_columns * size_of(traits.element);
}
constexpr int staged_entry_bytes(const StagedRowsConfig& config) { return 8 * config.tile_nonzeros + 16; }

/// A line of zeros behind the panels, which entries of no value multiply: B may hold NaN.
constexpr bool fills_rows(const StagedRowsConfig& config) { return config.filled_entries > 1; }
constexpr int zeros_bytes(const StagedRowsTraits& traits, const StagedRowsConfig& config) {
  const int line = config.tile_columns * size_of(traits.element);
  return fills_rows(config) ? (line + 15) / 16 * 16 : 0;
}

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const StagedRowsTraits& traits, const StagedRowsConfig& config) {
  return config.stages * panel_bytes(traits, config) + zeros_bytes(traits, config) +
         config.warps * rows_abreast(config) * staged_entry_bytes(config);
}

constexpr void kernel_rules(RuleCheck& rule, const StagedRowsTraits& t, const StagedRowsConfig& c) {
  rule("the starts of panels have 32 bits", [&] { return !t.wide_nonzeros; });
  rule("the lanes of a row lie in one warp: threads_per_row is a power of two of at most 32",
       [&] { return is_power_of_two(c.threads_per_row, 1, 32); });
  rule("a block has 1 to 32 warps", [&] { return within(c.warps, 1, 32); });
  rule("a warp has at most 32 rows: rows_per_lane is 1 to threads_per_row",
       [&] { return within(c.rows_per_lane, 1, c.threads_per_row); });
  rule("a panel has 1 to 2048 rows", [&] { return within(c.panel_rows, 1, 2048); });
  rule("stages is 1 to 8", [&] { return within(c.stages, 1, 8); });
  rule("row_rounds is 1 to 65535", [&] { return within(c.row_rounds, 1, 65535); });
  rule("where B stays, all of k is one panel: stages and k_split are 1 where row_rounds is more",
       [&] { return c.row_rounds == 1 || (c.stages == 1 && c.k_split == 1); });
  // A block of sums has at most 256 entries.
  rule("entries are staged in pairs: tile_nonzeros is even, 2 to 256",
       [&] { return within(c.tile_nonzeros, 2, 256) && c.tile_nonzeros % 2 == 0; });
  rule("loads_in_flight is a power of two of at most 16", [&] { return is_power_of_two(c.loads_in_flight, 1, 16); });
  rule("filled_entries is a power of two of at most loads_in_flight, and divides tile_nonzeros", [&] {
    return is_power_of_two(c.filled_entries, 1, c.loads_in_flight) && c.tile_nonzeros % c.filled_entries == 0;
  });
  rule("panels are rows of B: prepare_dense transposes a column-major one", [&] { return !reads_columns(t, c); });
  rule("no lane loads B by itself: column_edge is clamped or unchecked",
       [&] { return c.column_edge != ColumnEdge::predicated; });
  rule("a slice has at least one panel: k_split is 1 to 64", [&] { return within(c.k_split, 1, 64); });
  dense_rules(rule, t, c);
  rule("the threads of a block copy whole rows of a panel: tile_columns / dense_vector divides them",
       [&] { return threads(c) % (c.tile_columns / c.dense_vector) == 0; });
  rule("a panel is a multiple of 16 bytes", [&] { return panel_bytes(t, c) % 16 == 0; });
}

}  // namespace vostok
