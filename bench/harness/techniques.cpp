#include "bench/harness/techniques.hpp"

#include <algorithm>

#include "abi/row_strips.h"
#include "abi/row_tile.h"
#include "base/text.hpp"
#include "codegen/fields.hpp"

namespace vostok::bench {

namespace {

constexpr int warp_lanes = 32;
constexpr int most_entries_per_lane = 256;  ///< in a step

/// The config after an edit; nothing if that changes nothing.
template <class Config, auto Edit>
std::optional<FieldMap> edited(const FieldMap& config) {
  int unknown = 0;
  auto parsed = codegen::from_map<Config>(config, &unknown);
  if (!parsed || unknown > 0)
    fail(ErrorCode::invalid_argument, "cannot switch off a technique: \"{}\" is no config of this family",
         to_text(config));
  const FieldMap full = codegen::to_map(*parsed);
  Edit(*parsed);
  FieldMap changed = codegen::to_map(*parsed);
  if (changed == full) return std::nullopt;
  return changed;
}

template <auto Edit>
constexpr auto tile = &edited<RowTileConfig, Edit>;
template <auto Edit>
constexpr auto strips = &edited<RowStripsConfig, Edit>;

// --- row_tile --------------------------------------------------------------------------------------------------------

void narrow_sparse(RowTileConfig& config) { config.sparse_vector = 1; }
void narrow_dense(RowTileConfig& config) { config.dense_vector = 1; }

/// Gives each row's entries to one subwarp. A step that is too long for its lanes gets shorter.
void whole_row_per_subwarp(RowTileConfig& config) {
  config.row_split = 1;
  config.tile_nonzeros = std::min(config.tile_nonzeros, most_entries_per_lane);
}

/// Gives one row to each warp. The block keeps its threads, and a tile its columns if they are enough for the lanes; a
/// wider tile may no longer divide n.
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

/// Reads entries from CSR, and does not cut rows.
void without_slots(RowTileConfig& config) {
  config.slot_entries = 0;
  config.row_pieces = 1;
}

/// Gives each subwarp a row of its own.
void whole_rows(RowTileConfig& config) {
  config.tile_rows *= config.row_split;
  whole_row_per_subwarp(config);
}

constexpr Technique of_row_tile[] = {
    {"row swizzle (V-C), and the slots it allows", "row_swizzle, deal_rows, slot_entries, row_pieces",
     tile<[](RowTileConfig& config) { config.row_swizzle = config.deal_rows = false, without_slots(config); }>},
    {"slots", "slot_entries, row_pieces", tile<without_slots>},
    {"long rows cut into pieces", "row_pieces", tile<[](RowTileConfig& config) { config.row_pieces = 1; }>},
    {"rows dealt to blocks", "deal_rows", tile<[](RowTileConfig& config) { config.deal_rows = false; }>},
    {"vector loads, both sides (V-B)", "sparse_vector, dense_vector",
     tile<[](RowTileConfig& config) { narrow_sparse(config), narrow_dense(config); }>},
    {"vector loads of the sparse side", "sparse_vector", tile<narrow_sparse>},
    {"vector loads of the dense side", "dense_vector", tile<narrow_dense>},
    {"reverse-offset alignment (V-B2), and the sparse vectors it allows", "reverse_offset_alignment, sparse_vector",
     tile<[](RowTileConfig& config) { config.reverse_offset_alignment = false, narrow_sparse(config); }>},
    {"subwarp tiling (V-B1): one row a warp",
     "threads_per_row, row_split, row_pieces, tile_rows, tile_columns, tile_nonzeros, column_edge",
     tile<one_row_per_warp>},
    {"index pre-scaling (V-D1)", "prescale_indices",
     tile<[](RowTileConfig& config) { config.prescale_indices = false; }>},
    {"residue unrolling (V-D2)", "residue_unroll", tile<[](RowTileConfig& config) { config.residue_unroll = 1; }>},
    {"predication removed (V-D3)", "column_edge",
     tile<[](RowTileConfig& config) { config.column_edge = ColumnEdge::predicated; }>},
    {"several loads in flight", "loads_in_flight", tile<[](RowTileConfig& config) { config.loads_in_flight = 1; }>},
    {"overlapped batches of loads", "overlap_batches",
     tile<[](RowTileConfig& config) { config.overlap_batches = false; }>},
    {"several packets of columns a lane", "tile_columns",
     tile<[](RowTileConfig& config) { config.tile_columns = config.threads_per_row * config.dense_vector; }>},
    {"rows split over subwarps", "row_split, tile_rows, tile_nonzeros", tile<whole_rows>},
    {"prefetch of the sparse side", "prefetch_sparse",
     tile<[](RowTileConfig& config) { config.prefetch_sparse = false; }>},
    {"minimum blocks per multiprocessor", "min_blocks", tile<[](RowTileConfig& config) { config.min_blocks = 1; }>},
    {"column tiles first", "raster", tile<[](RowTileConfig& config) { config.raster = Raster::rows_first; }>},
    {"streaming stores of C", "stream_output", tile<[](RowTileConfig& config) { config.stream_output = false; }>},
    {"column-major B transposed first", "prepare_dense",
     tile<[](RowTileConfig& config) { config.prepare_dense = false; }>},
    {"values of a transposed A gathered first", "pack_values",
     tile<[](RowTileConfig& config) { config.pack_values = false; }>},
};

// --- row_strips ------------------------------------------------------------------------------------------------------

/// Gives one strip to each warp. The block keeps its threads.
void one_strip_per_warp(RowStripsConfig& config) {
  config.strips_per_block = std::max(1, threads(config) / warp_lanes);
  config.threads_per_strip = warp_lanes;
}

/// Makes strips as long as the kernel supports, so that few rows have two. Their sums take more registers.
void long_strips(RowStripsConfig& config) {
  config.strip_entries = 128;
  config.min_blocks = 1;
}

constexpr Technique of_row_strips[] = {
    {"load balancing (V-C): rows cut into short strips", "strip_entries, min_blocks", strips<long_strips>},
    {"vector loads (V-B)", "dense_vector", strips<[](RowStripsConfig& config) { config.dense_vector = 1; }>},
    {"subwarp tiling (V-B1): one strip a warp", "threads_per_strip, strips_per_block", strips<one_strip_per_warp>},
    {"several loads in flight", "loads_in_flight", strips<[](RowStripsConfig& config) { config.loads_in_flight = 1; }>},
    {"overlapped batches of loads", "overlap_batches",
     strips<[](RowStripsConfig& config) { config.overlap_batches = false; }>},
    {"several loads of A a step", "step_vectors", strips<[](RowStripsConfig& config) { config.step_vectors = 1; }>},
    {"column indices through shared memory", "column_path",
     strips<[](RowStripsConfig& config) { config.column_path = ColumnPath::shuffle; }>},
    {"strips in bands of columns", "column_bands",
     strips<[](RowStripsConfig& config) { config.column_bands = false; }>},
    {"n split over blocks", "n_split", strips<[](RowStripsConfig& config) { config.n_split = 1; }>},
    {"minimum blocks per multiprocessor", "min_blocks", strips<[](RowStripsConfig& config) { config.min_blocks = 1; }>},
    {"streaming stores of D", "stream_output", strips<[](RowStripsConfig& config) { config.stream_output = false; }>},
};

// --- any family that splits or pads ----------------------------------------------------------------------------------

constexpr Technique of_sums[] = {
    {"certified sums", "nonfinite (of the problem)", [](const FieldMap& config) { return std::optional(config); }}};

}  // namespace

TechniquesOf row_tile_techniques() { return {.operation = "spmm", .family = "row_tile", .techniques = of_row_tile}; }
TechniquesOf row_strips_techniques() {
  return {.operation = "sddmm", .family = "row_strips", .techniques = of_row_strips};
}

TechniquesOf certified_sums(const char* operation) {
  return {.operation = operation, .family = "", .techniques = of_sums};
}

}  // namespace vostok::bench
