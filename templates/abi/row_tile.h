// row_tile, the SpMM of "Sparse GPU Kernels for Deep Learning" (SC20): what host and kernel share.
#pragma once

#include "abi/csr_product.h"
#include "abi/row_slots.h"

namespace vostok {

/// What the problem fixes.
using RowTileTraits = CsrProductTraits;

/// The tunables. The paper's techniques can be switched off one by one.
struct RowTileConfig {
  int tile_rows = 4;                     ///< rows of a block (1-D tiling, V-A)
  int tile_columns = 64;                 ///< columns of B and C of a block
  int threads_per_row = 16;              ///< lanes side by side along the columns (subwarp tiling, V-B1)
  int row_split = 2;                     ///< subwarps of one warp that share a row's entries
  int tile_nonzeros = 128;               ///< entries of a row per step
  int sparse_vector = 4;                 ///< neighbouring entries that a lane loads
  int dense_vector = 4;                  ///< elements per load of B and store of C
  bool reverse_offset_alignment = true;  ///< steps start at the vector boundary before the row (V-B2)
  bool row_swizzle = true;               ///< rows in order of length (V-C)
  int slot_entries =
      0;  ///< entries whose columns come from the row's slot (abi/row_slots.h), with its record; 0: all come from CSR
  int row_pieces = 1;      ///< slots that a long row may take: as many rows of a block sum it, and add up
  bool deal_rows = false;  ///< blocks get long and short rows alike: their rows lie a whole grid apart in that order
  bool prescale_indices = true;  ///< column indices become byte offsets while they are staged (V-D1)
  int residue_unroll = 8;        ///< entries per iteration where a step is not whole (V-D2)
  ColumnEdge column_edge = ColumnEdge::clamped;
  int loads_in_flight = 8;       ///< loads of B issued before the first of them is used
  bool overlap_batches = false;  ///< the loads of the next batch are issued before this one is multiplied
  int min_blocks = 4;            ///< blocks per multiprocessor that registers must allow
  bool prefetch_sparse = true;   ///< the next step's entries are loaded while this one's are multiplied
  Raster raster = Raster::rows_first;
  bool stream_output = false;  ///< C is stored as data that will not be read soon
  bool prepare_dense = false;  ///< a column-major B is transposed into the workspace first
  bool pack_values = false;    ///< the values of a transposed A are gathered into the workspace first, not in the load

  friend constexpr bool operator==(const RowTileConfig&, const RowTileConfig&) = default;
};

struct RowTileArgs {
  CsrProductArgs product;
  const int* row_order;  ///< m rows by length, longest first; read only with row_swizzle, and not with slots
  RowSlots slots;        ///< read only with slot_entries
};

template <FieldsOf<RowTileConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("tile_rows", config.tile_rows);
  visit("tile_columns", config.tile_columns);
  visit("threads_per_row", config.threads_per_row);
  visit("row_split", config.row_split);
  visit("tile_nonzeros", config.tile_nonzeros);
  visit("sparse_vector", config.sparse_vector);
  visit("dense_vector", config.dense_vector);
  visit("reverse_offset_alignment", config.reverse_offset_alignment);
  visit("row_swizzle", config.row_swizzle);
  visit("slot_entries", config.slot_entries);
  visit("row_pieces", config.row_pieces);
  visit("deal_rows", config.deal_rows);
  visit("prescale_indices", config.prescale_indices);
  visit("residue_unroll", config.residue_unroll);
  visit("column_edge", config.column_edge);
  visit("loads_in_flight", config.loads_in_flight);
  visit("overlap_batches", config.overlap_batches);
  visit("min_blocks", config.min_blocks);
  visit("prefetch_sparse", config.prefetch_sparse);
  visit("raster", config.raster);
  visit("stream_output", config.stream_output);
  visit("prepare_dense", config.prepare_dense);
  visit("pack_values", config.pack_values);
}

/// Lanes that share a row's entries: its subwarps.
constexpr int lanes_per_row(const RowTileConfig& config) { return config.threads_per_row * config.row_split; }

constexpr int threads(const RowTileConfig& config) { return config.tile_rows * lanes_per_row(config); }

/// Entries of a row that one lane multiplies per step.
constexpr int entries_per_lane(const RowTileConfig& config) { return config.tile_nonzeros / config.row_split; }

constexpr bool aligns_spans(const RowTileConfig& config) { return config.reverse_offset_alignment; }
constexpr bool prescales_indices(const RowTileConfig& config) { return config.prescale_indices; }

/// Whether sums of at most 256 products go into a second accumulator.
constexpr bool keeps_totals(const RowTileTraits& traits, const RowTileConfig&) { return traits.blocked_sum; }

/// How the rows of A are cut into slots.
constexpr SlotShape slot_shape(const RowTileConfig& config) { return {config.slot_entries, config.row_pieces}; }

/// Shared memory of a piece's sums.
constexpr int piece_bytes(const RowTileConfig& config) { return config.row_pieces > 1 ? config.tile_columns * 4 : 0; }

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const RowTileTraits& traits, const RowTileConfig& config) {
  return config.tile_rows * (staged_bytes(traits, config) + piece_bytes(config));
}

constexpr void kernel_rules(RuleCheck& rule, const RowTileTraits& t, const RowTileConfig& c) {
  rule("threads_per_row and row_split are powers of two of at most 32",
       [&] { return is_power_of_two(c.threads_per_row, 1, 32) && is_power_of_two(c.row_split, 1, 32); });
  rule("the subwarps of a row lie in one warp: threads_per_row * row_split is at most 32",
       [&] { return lanes_per_row(c) <= 32; });
  rule("a block has 1 to 32 whole warps", [&] { return is_block(c.tile_rows, lanes_per_row(c)); });
  dense_rules(rule, t, c);
  rule("sparse_vector is 1, 2, 4 or 8", [&] { return is_power_of_two(c.sparse_vector, 1, 8); });
  rule("rows start anywhere: a sparse_vector above 1 needs reverse_offset_alignment",
       [&] { return c.sparse_vector == 1 || c.reverse_offset_alignment; });
  // Shared memory is read sixteen bytes at a time.
  rule("tile_nonzeros is a power of two, at least 4 and sparse_vector",
       [&] { return is_power_of_two(c.tile_nonzeros, 4, 8192) && c.tile_nonzeros >= c.sparse_vector; });
  rule("each of row_split lanes takes 1 to 256 of tile_nonzeros", [&] { return within(entries_per_lane(c), 1, 256); });
  rule("loads_in_flight and residue_unroll are powers of two that divide a lane's entries per step", [&] {
    return is_power_of_two(c.loads_in_flight, 1, entries_per_lane(c)) &&
           is_power_of_two(c.residue_unroll, 1, entries_per_lane(c));
  });
  rule("slot_entries is 0 or a power of two, from the lanes of a row to tile_nonzeros",
       [&] { return c.slot_entries == 0 || is_power_of_two(c.slot_entries, lanes_per_row(c), c.tile_nonzeros); });
  rule("a slot has residue_unroll entries for each of row_split lanes: slot_entries is at least as many",
       [&] { return c.slot_entries == 0 || c.slot_entries >= c.row_split * c.residue_unroll; });
  rule("slots lie in the order of length: slot_entries needs row_swizzle",
       [&] { return c.slot_entries == 0 || c.row_swizzle; });
  rule("the values of a slot lie in CSR order: slot_entries of a transposed A needs pack_values",
       [&] { return c.slot_entries == 0 || !gathers_values(t, c); });
  rule("row_pieces is a power of two that divides tile_rows",
       [&] { return is_power_of_two(c.row_pieces, 1, 128) && c.tile_rows % c.row_pieces == 0; });
  rule("pieces of rows have slots: row_pieces needs slot_entries",
       [&] { return c.row_pieces == 1 || c.slot_entries > 0; });
  rule("pieces of rows are neighbours in a block: row_pieces excludes deal_rows",
       [&] { return c.row_pieces == 1 || !c.deal_rows; });
  rule("pieces of rows have tiles of whole 16 bytes: 4 divides tile_columns",
       [&] { return c.row_pieces == 1 || c.tile_columns % 4 == 0; });
  rule("deal_rows spreads the order of length: it needs row_swizzle", [&] { return !c.deal_rows || c.row_swizzle; });
}

}  // namespace vostok
