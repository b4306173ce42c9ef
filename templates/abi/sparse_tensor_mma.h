// sparse_tensor_mma, sparse_tensor by mma.sp (sm_80 and later): what host and kernel share.
#pragma once

#include "abi/part_contracts.h"
#include "abi/sparse_tensor.h"
#include "abi/strip_stages.h"

namespace vostok {

/// The tunables.
struct SparseTensorMmaConfig {
  int row_warps = 2;     ///< warps of a block along the rows
  int column_warps = 4;  ///< and along the columns: each of them reads the same strips
  int warp_strips = 4;   ///< strips of 16 rows of a warp
  int warp_columns = 64;
  int stages = 3;        ///< k blocks whose operands are in shared memory or on their way there
  int strip_passes = 4;  ///< passes for which a stage has room, for each strip of the tile; k blocks with more are read
                         ///< from global memory
  int k_split = 1;       ///< slices of k, summed in order by a second launch
  int raster_rows = 8;   ///< row tiles that are walked before the next column tile
  int min_blocks = 1;    ///< blocks per multiprocessor that registers must allow
  bool stream_output = false;  ///< C is stored as data that will not be read soon

  friend constexpr bool operator==(const SparseTensorMmaConfig&, const SparseTensorMmaConfig&) = default;
};

template <FieldsOf<SparseTensorMmaConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("row_warps", config.row_warps);
  visit("column_warps", config.column_warps);
  visit("warp_strips", config.warp_strips);
  visit("warp_columns", config.warp_columns);
  visit("stages", config.stages);
  visit("strip_passes", config.strip_passes);
  visit("k_split", config.k_split);
  visit("raster_rows", config.raster_rows);
  visit("min_blocks", config.min_blocks);
  visit("stream_output", config.stream_output);
}

constexpr StripsKind strips_kind(const SparseTensorTraits& traits, const SparseTensorMmaConfig&) {
  return sparse_strips_kind(traits);
}

constexpr int threads(const SparseTensorMmaConfig& config) { return 32 * config.row_warps * config.column_warps; }
constexpr int tile_strips(const SparseTensorMmaConfig& config) { return config.row_warps * config.warp_strips; }
constexpr int tile_rows(const SparseTensorMmaConfig& config) { return packed_strip_rows() * tile_strips(config); }
constexpr int tile_columns(const SparseTensorMmaConfig& config) { return config.column_warps * config.warp_columns; }

/// f32 sums of a lane.
constexpr int lane_sums(const SparseTensorMmaConfig& config) { return config.warp_strips * config.warp_columns / 2; }

// What the parts that this family shares with unpack_mma ask of a config (spmm/unpack_shared.h, spmm/unpack_dense.h).

/// All warps of a block fill its stages together.
constexpr int teams(const SparseTensorMmaConfig&) { return 1; }
/// Blocks multiply B as it is.
constexpr bool splits_dense(const SparseTensorMmaConfig&) { return false; }
constexpr int split_buffer_bytes(const SparseTensorMmaConfig&) { return 0; }
constexpr int column_scale_bytes(const SparseTensorMmaConfig&) { return 0; }
/// Whether B lies in shared memory with k running along its lines.
constexpr bool stages_columns(const SparseTensorTraits& traits, const SparseTensorMmaConfig&) {
  return traits.dense_layout == Layout::column_major;
}
/// Bytes of B in one stage.
constexpr int dense_stage_bytes(const SparseTensorMmaConfig& config) {
  return packed_strip_columns() * tile_columns(config) * 2;
}
/// Room for the strips of a tile's k block, in units of 16 bytes.
constexpr int strip_stage_units(const SparseTensorMmaConfig& config) {
  return tile_strips(config) * static_cast<int>(sparse_strip_units(static_cast<unsigned>(config.strip_passes)));
}

/// Threads copy the strips.
constexpr bool copies_in_bulk(const SparseTensorMmaConfig&) { return false; }

/// Shared memory of a team: of the block.
constexpr int team_shared_bytes(const SparseTensorMmaConfig& config) {
  return (strip_ring_bytes(config) + 127) / 128 * 128;
}

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const SparseTensorTraits&, const SparseTensorMmaConfig& config) {
  return team_shared_bytes(config);
}

constexpr void kernel_rules(RuleCheck& rule, const SparseTensorTraits& t, const SparseTensorMmaConfig& c) {
  rule("elements have 16 bits", [&] { return size_of(t.element) == 2; });
  warp_tile_rules(rule, c);
  rule("a block has a power of two of 1 to 32 warps", [&] { return threads(c) <= 1024; });
  rule("stages is 2 to 8", [&] { return within(c.stages, 2, 8); });
  rule("strip_passes is 1 to 4", [&] { return within(c.strip_passes, 1, sparse_steps() * sparse_most_passes()); });
  rule("a line of B has no more chunks than a block has threads",
       [&] { return dense_line_chunks(t, c) <= threads(c); });
}

static_assert(UnpacksByTeams<SparseTensorTraits, SparseTensorMmaConfig>, "a part lacks what it asks of a config");

}  // namespace vostok
