// wgmma_sample, an SDDMM on Hopper's tensor cores (wgmma, sm_90a): what host and kernel share. Traits, operands and
// lists of tiles are those of tensor_sample.
#pragma once

#include "abi/tensor_map.h"
#include "abi/tensor_sample.h"
#include "abi/warpgroup_registers.h"

namespace vostok {

/// The tunables.
struct WgmmaSampleConfig {
  PackedMode mode = PackedMode::f16x3;
  int warpgroups = 3;      ///< that multiply, 64 rows each
  int tile_columns = 128;  ///< of a tile: rows of B
  int stages = 3;          ///< n blocks of tiles that are in shared memory or on their way there
  bool takes_turns =
      true;       ///< one warpgroup multiplies after the other: then one gathers what it has while others multiply
  int waves = 1;  ///< times that blocks fill the device, each with its share of the tiles; 0: a block for each tile
  int list_room =
      1024;         ///< entries of a tile's list that shared memory has room for; others are read where they are used
  int n_split = 1;  ///< parts of n that different blocks sum; another kernel adds them in order
  int min_blocks = 1;  ///< blocks per multiprocessor that registers must allow
  bool stream_output = false;
  int promotion_blocks = 1;  ///< n blocks after which sums are taken out of the tensor cores, whose additions cut,
                             ///< where n is more than one; 0: never
  bool tensor_copies =
      false;  ///< operands are copied from where they lie by the copy engine (tensor maps); no launch prepares them

  friend constexpr bool operator==(const WgmmaSampleConfig&, const WgmmaSampleConfig&) = default;
};

struct WgmmaSampleArgs {
  TensorSampleArgs sample;
  unsigned tiles_per_block;  ///< 1 where waves is 0
};

/// What the kernel takes: the operands' maps too, where it copies by them.
template <bool tensor_copies>
using WgmmaSampleKernelArgs = Either<WgmmaSampleArgs, PairMappedArgs<WgmmaSampleArgs>, tensor_copies>;

template <FieldsOf<WgmmaSampleConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("mode", config.mode);
  visit("warpgroups", config.warpgroups);
  visit("tile_columns", config.tile_columns);
  visit("stages", config.stages);
  visit("takes_turns", config.takes_turns);
  visit("waves", config.waves);
  visit("list_room", config.list_room);
  visit("n_split", config.n_split);
  visit("min_blocks", config.min_blocks);
  visit("stream_output", config.stream_output);
  visit("promotion_blocks", config.promotion_blocks);
  visit("tensor_copies", config.tensor_copies);
}

consteval int warpgroup_rows() { return 64; }

/// Whether blocks split f32 operands, which lie by rows, into terms of TF32 (sddmm/tf32_product.h).
constexpr bool splits_operands(const WgmmaSampleConfig& config) { return config.mode == PackedMode::tf32x3; }
/// n of a stage: a line of 128 bytes of each row.
constexpr int stage_length(const WgmmaSampleConfig& config) {
  return splits_operands(config) ? sample_block() / 2 : sample_block();
}
/// Stages of an n block.
constexpr int block_stages(const WgmmaSampleConfig& config) { return sample_block() / stage_length(config); }

constexpr int consumer_warps(const WgmmaSampleConfig& config) { return 4 * config.warpgroups; }
constexpr bool exchanges_registers(const WgmmaSampleConfig& config) { return config.warpgroups > 1; }
/// One more warp copies and one searches the lists. Two more split B, or do nothing: registers are given out to four
/// warps at a time. A B for several warpgroups has four more that split it.
constexpr bool has_splitting_warpgroup(const WgmmaSampleConfig& config) {
  return splits_operands(config) && exchanges_registers(config);
}
constexpr int copying_warpgroups(const WgmmaSampleConfig& config) { return has_splitting_warpgroup(config) ? 2 : 1; }
constexpr int threads(const WgmmaSampleConfig& config) {
  return 32 * (consumer_warps(config) + 4 * copying_warpgroups(config));
}
/// The last of the block.
constexpr int splitting_threads(const WgmmaSampleConfig& config) { return has_splitting_warpgroup(config) ? 128 : 64; }

constexpr int tile_rows(const WgmmaSampleConfig& config) { return warpgroup_rows() * config.warpgroups; }
constexpr int tile_columns(const WgmmaSampleConfig& config) { return config.tile_columns; }
constexpr TileShape tile_shape(const WgmmaSampleConfig& config) { return {tile_rows(config), tile_columns(config)}; }

/// Where n is one block A's tile stays in registers while tiles of B go by, and sums stay in the tensor cores; else A
/// comes along with B, and sums are taken out after every block.
constexpr bool keeps_lhs(const TensorSampleTraits& traits) { return traits.one_block; }

/// Bytes of an n block of a tile's rows of A, and of B.
constexpr int lhs_block_bytes(const WgmmaSampleConfig& config) {
  return tile_rows(config) / sample_octet_rows() * sample_octet_bytes(config.mode);
}
constexpr int rhs_block_bytes(const WgmmaSampleConfig& config) {
  return tile_columns(config) / sample_octet_rows() * sample_octet_bytes(config.mode);
}
constexpr int copied_stage_bytes(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  return rhs_block_bytes(config) + (keeps_lhs(traits) ? 0 : lhs_block_bytes(config));
}
/// What is copied, and the low terms of B.
constexpr int sample_stage_bytes(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  return copied_stage_bytes(traits, config) + (splits_operands(config) ? rhs_block_bytes(config) : 0);
}

/// Whether sums that leave the tensor cores are added to a second set.
constexpr bool promotes(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  return !traits.one_block && config.promotion_blocks > 0;
}

/// A tile's sums on their way to the output. They lie behind the stages, so that the next tile's operands come
/// meanwhile; or where the stages were: where a block has one tile, and where sums are so many that both have no room.
constexpr int sums_bytes(const WgmmaSampleConfig& config) { return 4 * tile_rows(config) * tile_columns(config); }
constexpr bool sums_follow_stages(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  return traits.one_block || (config.waves != 0 && config.tile_columns <= 128);
}
/// Bytes of stages and sums.
constexpr int front_bytes(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  const int stages = config.stages * sample_stage_bytes(traits, config);
  const int sums = sums_bytes(config);
  return sums_follow_stages(traits, config) ? stages + sums : stages > sums ? stages : sums;
}

/// Rows that a warp multiplies and gathers, and where each strip of them begins in a tile's list, with the list's end:
/// a multiple of 16 bytes.
consteval int sample_strip_rows() { return 16; }
constexpr int sample_strip_begins(const WgmmaSampleConfig& config) { return consumer_warps(config) + 1; }
constexpr int strip_begins_bytes(const WgmmaSampleConfig& config) {
  return (4 * sample_strip_begins(config) + 15) / 16 * 16;
}

/// Tiles of which what is known before their sums are (sddmm/tile_info.h) is in shared memory or on its way there. A
/// tile's is still needed when the next one's products are queued; where its sums lie where the next one's operands
/// would, those wait for it.
constexpr int tile_infos(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  if (config.waves == 0 || !sums_follow_stages(traits, config)) return 1;
  return traits.one_block ? config.stages : 2;
}

/// A stage is full, or empty again; what is known of a tile has come, its strips were found, and neither is needed any
/// more; a warpgroup's turn has come; and a stage's B is split.
constexpr int sample_barriers(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  return 2 * config.stages + 3 * tile_infos(traits, config) + config.warpgroups +
         (splits_operands(config) ? config.stages : 0);
}

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const TensorSampleTraits& traits, const WgmmaSampleConfig& config) {
  return front_bytes(traits, config) +
         tile_infos(traits, config) * (tile_info_bytes(traits, config) + strip_begins_bytes(config)) +
         8 * sample_barriers(traits, config);
}

constexpr int launch_registers(const WgmmaSampleConfig& config) {
  return launched_registers(threads(config), config.min_blocks);
}
/// What a copying, a searching or a splitting thread keeps, and what a multiplying one then has.
constexpr int copying_registers(const WgmmaSampleConfig& config) { return splits_operands(config) ? 40 : 24; }
constexpr int gained_registers(const WgmmaSampleConfig& config) {
  return exchanges_registers(config) ? shared_out_registers(launch_registers(config), config.warpgroups,
                                                            copying_registers(config), copying_warpgroups(config))
                                     : launch_registers(config);
}

constexpr void kernel_rules(RuleCheck& rule, const TensorSampleTraits& t, const WgmmaSampleConfig& c) {
  rule("warpgroups is 1 to 3", [&] { return within(c.warpgroups, 1, 3); });
  rule("tile_columns is a power of two from 32 to 256", [&] { return is_power_of_two(c.tile_columns, 32, 256); });
  sample_rules(rule, t, c);
  rule("waves is 0 to 1024", [&] { return within(c.waves, 0, 1024); });
  rule("min_blocks is 1 to 16", [&] { return within(c.min_blocks, 1, 16); });
  rule("promotion_blocks is 0 to 1024, and 1 where warpgroups take turns or n is one block", [&] {
    return within(c.promotion_blocks, 0, 1024) && (c.promotion_blocks == 1 || (!c.takes_turns && !t.one_block));
  });
  rule("sums of f32, which is split, are taken out of the tensor cores every 128 n at least",
       [&] { return t.element != Dtype::f32 || within(c.promotion_blocks, 1, 2); });
  rule("tensor_copies takes operands of 16 bits, or f32 in mode tf32x3, which takes it, and an n of several blocks",
       [&] {
         return splits_operands(c) == (c.tensor_copies && t.element == Dtype::f32) &&
                (!c.tensor_copies || !t.one_block);
       });
  rule("tf32x3 multiplies rows, up to 128 columns, one promotion an n block, and takes no turns", [&] {
    return !splits_operands(c) || (t.lhs_layout == Layout::row_major && t.rhs_layout == Layout::row_major &&
                                   c.tile_columns <= 128 && c.promotion_blocks == 1 && !c.takes_turns);
  });
  rule("boxes of a column-major operand have 64 of its rows: tile_columns is 64 and more",
       [&] { return !c.tensor_copies || t.rhs_layout == Layout::row_major || c.tile_columns >= warpgroup_rows(); });
}

}  // namespace vostok
