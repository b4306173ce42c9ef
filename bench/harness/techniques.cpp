#include "bench/harness/techniques.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "codegen/fields.hpp"

namespace vostok::bench {

namespace {

constexpr int warp_lanes = 32;
constexpr int most_entries_per_lane = 256;  ///< in a step

void narrow_sparse(RowTileConfig& config) { config.sparse_vector = 1; }
void narrow_dense(RowTileConfig& config) { config.dense_vector = 1; }

/// A row's entries go to one subwarp. A step that is too long for its lanes gets shorter.
void whole_row_per_subwarp(RowTileConfig& config) {
  config.row_split = 1;
  config.tile_nonzeros = std::min(config.tile_nonzeros, most_entries_per_lane);
}

/// One row a warp. The block keeps its threads, and a tile its columns where they are enough for the lanes; a wider one may
/// no longer divide n.
void one_row_per_warp(RowTileConfig& config) {
  config.tile_rows = std::max(1, threads(config) / warp_lanes);
  config.row_pieces = std::min(config.row_pieces, config.tile_rows);
  config.threads_per_row = warp_lanes;
  whole_row_per_subwarp(config);
  const int least_columns = warp_lanes * config.dense_vector;
  if (config.tile_columns >= least_columns) return;
  config.tile_columns = least_columns;
  if (config.column_edge == ColumnEdge::unchecked) config.column_edge = ColumnEdge::clamped;
}

/// Entries come from CSR, and rows are whole.
void without_slots(RowTileConfig& config) {
  config.slot_entries = 0;
  config.row_pieces = 1;
}

/// Each subwarp gets a row of its own.
void whole_rows(RowTileConfig& config) {
  config.tile_rows *= config.row_split;
  whole_row_per_subwarp(config);
}

constexpr Technique techniques[] = {
    {"row swizzle (V-C), and the slots it allows", "row_swizzle, deal_rows, slot_entries, row_pieces",
     [](RowTileConfig& config) { config.row_swizzle = config.deal_rows = false, without_slots(config); }},
    {"slots", "slot_entries, row_pieces", without_slots},
    {"long rows cut into pieces", "row_pieces", [](RowTileConfig& config) { config.row_pieces = 1; }},
    {"rows dealt to blocks", "deal_rows", [](RowTileConfig& config) { config.deal_rows = false; }},
    {"vector loads, both sides (V-B)", "sparse_vector, dense_vector", [](RowTileConfig& config) { narrow_sparse(config), narrow_dense(config); }},
    {"vector loads of the sparse side", "sparse_vector", narrow_sparse},
    {"vector loads of the dense side", "dense_vector", narrow_dense},
    {"reverse-offset alignment (V-B2), and the sparse vectors it allows", "reverse_offset_alignment, sparse_vector",
     [](RowTileConfig& config) { config.reverse_offset_alignment = false, narrow_sparse(config); }},
    {"subwarp tiling (V-B1): one row a warp", "threads_per_row, row_split, row_pieces, tile_rows, tile_columns, tile_nonzeros, column_edge",
     one_row_per_warp},
    {"index pre-scaling (V-D1)", "prescale_indices", [](RowTileConfig& config) { config.prescale_indices = false; }},
    {"residue unrolling (V-D2)", "residue_unroll", [](RowTileConfig& config) { config.residue_unroll = 1; }},
    {"predication removed (V-D3)", "column_edge", [](RowTileConfig& config) { config.column_edge = ColumnEdge::predicated; }},
    {"several loads in flight", "loads_in_flight", [](RowTileConfig& config) { config.loads_in_flight = 1; }},
    {"overlapped batches of loads", "overlap_batches", [](RowTileConfig& config) { config.overlap_batches = false; }},
    {"several packets of columns a lane", "tile_columns",
     [](RowTileConfig& config) { config.tile_columns = config.threads_per_row * config.dense_vector; }},
    {"rows split over subwarps", "row_split, tile_rows, tile_nonzeros", whole_rows},
    {"prefetch of the sparse side", "prefetch_sparse", [](RowTileConfig& config) { config.prefetch_sparse = false; }},
    {"minimum blocks per multiprocessor", "min_blocks", [](RowTileConfig& config) { config.min_blocks = 1; }},
    {"column tiles first", "raster", [](RowTileConfig& config) { config.raster = Raster::rows_first; }},
    {"streaming stores of C", "stream_output", [](RowTileConfig& config) { config.stream_output = false; }},
    {"column-major B transposed first", "prepare_dense", [](RowTileConfig& config) { config.prepare_dense = false; }},
    {"values of a transposed A gathered first", "pack_values", [](RowTileConfig& config) { config.pack_values = false; }},
};

}  // namespace

std::span<const Technique> row_tile_techniques() { return techniques; }

std::optional<FieldMap> without(const Technique& technique, const FieldMap& config) {
  auto parsed = codegen::from_map<RowTileConfig>(config);
  if (!parsed) fail(ErrorCode::invalid_argument, "cannot switch off {}: \"{}\" is no config of row_tile", technique.name, to_text(config));
  const FieldMap full = codegen::to_map(*parsed);
  technique.switch_off(*parsed);
  FieldMap changed = codegen::to_map(*parsed);
  if (changed == full) return std::nullopt;
  return changed;
}

}  // namespace vostok::bench
