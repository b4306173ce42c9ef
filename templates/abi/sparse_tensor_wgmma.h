// sparse_tensor_wgmma, sparse_tensor by wgmma.sp (Hopper, sm_90a): what host and kernel share.
#pragma once

#include "abi/part_contracts.h"
#include "abi/sparse_tensor.h"
#include "abi/split_dense.h"
#include "abi/tensor_map.h"
#include "abi/tile_parts.h"
#include "abi/warpgroup_registers.h"

namespace vostok {

/// The tunables.
struct SparseTensorWgmmaConfig {
  int warpgroups = 2;      ///< that multiply, 64 rows each
  int tile_columns = 256;  ///< columns of B and C of a block
  int stages = 4;          ///< k blocks whose operands are in shared memory or on their way there
  int strip_passes = 4;    ///< passes for which a stage has room, for each strip of the tile; what does not fit is read
                           ///< from global memory
  int k_split = 1;         ///< slices of k, each of a block of its own
  int producer_warps = 4;  ///< that copy; four of them give their registers to the others
  int raster_rows = 8;     ///< row tiles that are walked before the next column tile
  int min_blocks = 1;      ///< blocks per multiprocessor that registers must allow
  bool stream_output = false;  ///< C is stored as data that will not be read soon
  bool tensor_copies = false;  ///< B is copied by the copy engine (a tensor map), not by threads
  bool cluster_sums =
      false;  ///< the blocks of a tile's slices are a cluster and add up their sums; else a second launch does
  bool persistent = false;  ///< blocks fill the device once and go through the tiles: operands of the next tile come
                            ///< while C of the one before is stored

  friend constexpr bool operator==(const SparseTensorWgmmaConfig&, const SparseTensorWgmmaConfig&) = default;
};

/// What the kernel takes: B's map too, where it copies by one.
template <bool tensor_copies>
using SparseTensorWgmmaArgs = ArgsMaybeMapped<SparseTensorArgs, tensor_copies>;

template <FieldsOf<SparseTensorWgmmaConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("warpgroups", config.warpgroups);
  visit("tile_columns", config.tile_columns);
  visit("stages", config.stages);
  visit("strip_passes", config.strip_passes);
  visit("k_split", config.k_split);
  visit("producer_warps", config.producer_warps);
  visit("raster_rows", config.raster_rows);
  visit("min_blocks", config.min_blocks);
  visit("stream_output", config.stream_output);
  visit("tensor_copies", config.tensor_copies);
  visit("cluster_sums", config.cluster_sums);
  visit("persistent", config.persistent);
}

constexpr StripsKind strips_kind(const SparseTensorTraits& traits, const SparseTensorWgmmaConfig&) {
  return sparse_strips_kind(traits);
}

constexpr int consumer_warps(const SparseTensorWgmmaConfig& config) { return 4 * config.warpgroups; }
constexpr int threads(const SparseTensorWgmmaConfig& config) {
  return 32 * (consumer_warps(config) + config.producer_warps);
}
/// Each warp that multiplies has one strip.
constexpr int tile_strips(const SparseTensorWgmmaConfig& config) { return consumer_warps(config); }
constexpr int tile_rows(const SparseTensorWgmmaConfig& config) { return packed_strip_rows() * tile_strips(config); }
constexpr int tile_columns(const SparseTensorWgmmaConfig& config) { return config.tile_columns; }

// What the parts that this family shares with unpack_wgmma ask of a config (spmm/unpack_wgmma_shared.h,
// spmm/unpack_wgmma_producer.h).

/// Whether threads copy B, by cp.async, and not the copy engine.
constexpr bool copies_by_threads(const SparseTensorWgmmaConfig& config) { return !config.tensor_copies; }

/// Whether k runs along the lines of B in shared memory: a column-major B as it is.
constexpr bool lines_along_k(const SparseTensorTraits& traits, const SparseTensorWgmmaConfig&) {
  return traits.dense_layout == Layout::column_major;
}
/// Bytes of B in one stage, a multiple of 1024: planes of 64 columns side by side, or a line of 64 k for each column.
constexpr int dense_stage_bytes(const SparseTensorTraits&, const SparseTensorWgmmaConfig& config) {
  return config.tile_columns * split_line_bytes();
}
constexpr int column_scale_bytes(const SparseTensorWgmmaConfig&) { return 0; }
constexpr int copied_units(const SparseTensorWgmmaConfig&) { return 0; }
constexpr int left_collectors(const SparseTensorWgmmaConfig&) { return 0; }
constexpr int left_batch_bytes(const SparseTensorWgmmaConfig&) { return 0; }
constexpr int left_scratch_bytes(const SparseTensorWgmmaConfig&) { return 0; }
/// Room for the strips of a tile's k block.
constexpr int strip_stage_bytes(const SparseTensorWgmmaConfig& config) {
  return tile_strips(config) * packed_unit_bytes() *
         static_cast<int>(sparse_strip_units(static_cast<unsigned>(config.strip_passes)));
}

/// Strips are read as others are, and for every tile.
constexpr bool streams_strips(const SparseTensorWgmmaConfig&) { return false; }
constexpr int kept_blocks(const SparseTensorWgmmaConfig&) { return 0; }
constexpr int dense_rooms(const SparseTensorWgmmaConfig&) { return 0; }
constexpr int strip_rings(const SparseTensorWgmmaConfig&) { return 1; }

/// Slices of k that a second launch adds up.
constexpr int launched_slices(const SparseTensorWgmmaConfig& config) {
  return config.cluster_sums ? 1 : config.k_split;
}

/// The parts of k that add up a tile's sums in the place of the stages.
constexpr TileParts tile_parts(const SparseTensorWgmmaConfig& config) {
  return {.groups = 1,
          .blocks = config.cluster_sums ? config.k_split : 1,
          .octets = config.tile_columns / 8,
          .group_warps = consumer_warps(config)};
}

constexpr int ring_bytes(const SparseTensorTraits& traits, const SparseTensorWgmmaConfig& config) {
  return config.stages * (dense_stage_bytes(traits, config) + strip_stage_bytes(config));
}

/// Dynamic shared memory of a block: stages, two barriers for each, and that of a cluster's sums.
constexpr int shared_bytes(const SparseTensorTraits& traits, const SparseTensorWgmmaConfig& config) {
  return ring_bytes(traits, config) + config.stages * 16 + tile_parts(config).barrier_bytes();
}

constexpr int launch_registers(const SparseTensorWgmmaConfig& config) {
  return launched_registers(threads(config), config.min_blocks);
}
/// Whether warpgroups exchange registers, how many the copying one keeps, and how many each of the others then has.
constexpr bool exchanges_registers(const SparseTensorWgmmaConfig& config) {
  return config.producer_warps == 4 && config.warpgroups > 1;
}
constexpr int kept_registers(const SparseTensorWgmmaConfig&) { return 48; }
constexpr int gained_registers(const SparseTensorWgmmaConfig& config) {
  return shared_out_registers(launch_registers(config), config.warpgroups, kept_registers(config));
}

constexpr void kernel_rules(RuleCheck& rule, const SparseTensorTraits& t, const SparseTensorWgmmaConfig& c) {
  rule("elements have 16 bits", [&] { return size_of(t.element) == 2; });
  rule("lines of B start and end at the 16 bytes of a copy", [&] { return t.dense_alignment >= 16; });
  rule("warpgroups is 1, 2 or 4", [&] { return is_power_of_two(c.warpgroups, 1, 4); });
  rule("tile_columns is 64, 128 or 256", [&] { return is_power_of_two(c.tile_columns, 64, 256); });
  rule("stages is 2 to 8", [&] { return within(c.stages, 2, 8); });
  rule("strip_passes is 1 to 4", [&] { return within(c.strip_passes, 1, sparse_steps() * sparse_most_passes()); });
  rule("four warps copy, or one where the copy engine does and warpgroups exchange no registers",
       [&] { return c.producer_warps == 4 || (c.producer_warps == 1 && c.tensor_copies && c.warpgroups == 1); });
  rule("raster_rows is 1 to 65536, k_split 1 to 1024 and min_blocks 1 to 16",
       [&] { return within(c.raster_rows, 1, 65536) && within(c.k_split, 1, 1024) && within(c.min_blocks, 1, 16); });
  cluster_rule(rule, c);
  rule("persistent blocks have a B that the copy engine brings, and all of k",
       [&] { return !c.persistent || (c.tensor_copies && c.k_split == 1); });
  rule("the sums of a cluster's slices fit in the place of the stages",
       [&] { return tile_parts(c).bytes() <= ring_bytes(t, c); });
}

static_assert(UnpacksByWarpgroups<SparseTensorTraits, SparseTensorWgmmaConfig>,
              "a part lacks what it asks of a config");

}  // namespace vostok
