// unpack_wgmma, an SpMM on Hopper's tensor cores (wgmma, sm_90a) from packed strips: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/packed_strips.h"
#include "abi/part_contracts.h"
#include "abi/split_dense.h"
#include "abi/tile_parts.h"
#include "abi/unpack_wgmma_config.h"
#include "abi/warpgroup_registers.h"

namespace vostok {

constexpr bool streams_strips(const UnpackWgmmaConfig& config) { return config.stream_strips; }
constexpr int kept_blocks(const UnpackWgmmaConfig& config) { return config.kept_blocks; }

/// Warps that multiply: of one group, and of all.
constexpr int group_warps(const UnpackWgmmaConfig& config) { return 4 * config.warpgroups; }
constexpr int consumer_warps(const UnpackWgmmaConfig& config) { return config.k_groups * group_warps(config); }
/// Whether B stays in shared memory from row tile to row tile, and how many k blocks have room.
constexpr int dense_rooms(const UnpackWgmmaConfig& config) { return config.dense_rooms; }
constexpr bool keeps_dense(const UnpackWgmmaConfig& config) { return config.dense_rooms > 0; }
/// Warps beside those that bring B, of which each copies one warpgroup's strips where B stays: four, since warpgroups
/// exchange registers. Rings of stages: there each warpgroup has its own, so that none waits for another.
constexpr int strip_warps(const UnpackWgmmaConfig& config) { return keeps_dense(config) ? 4 : 0; }
constexpr int strip_rings(const UnpackWgmmaConfig& config) { return keeps_dense(config) ? config.warpgroups : 1; }
constexpr int threads(const UnpackWgmmaConfig& config) {
  return 32 * (consumer_warps(config) + config.producer_warps + strip_warps(config));
}
/// Each warp of a group has one strip.
constexpr int tile_strips(const UnpackWgmmaConfig& config) { return group_warps(config); }
constexpr int tile_rows(const UnpackWgmmaConfig& config) { return packed_strip_rows() * tile_strips(config); }
constexpr int tile_columns(const UnpackWgmmaConfig& config) { return config.tile_columns; }

/// 16-bit terms that a value is split into.
constexpr int terms(const UnpackWgmmaConfig& config) { return packed_pair_words(config.mode); }

/// Whether sums are certified against what splitting B loses (spmm/column_losses.h).
constexpr bool certifies_splits(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return traits.certify && packed_scales_rows(config.mode);
}

constexpr StripsKind strips_kind(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return {config.mode, config.grain, false, certifies_splits(traits, config)};
}

/// Whether strips hold two of every four columns, and leave nonzeros over.
constexpr bool takes_fours(const UnpackWgmmaConfig& config) { return config.grain == PackedGrain::four; }
/// Whether tensor cores read strips from shared memory; bytes there between eight lines and the next, and those of a
/// warpgroup.
constexpr bool takes_whole(const UnpackWgmmaConfig& config) { return config.grain == PackedGrain::whole; }
constexpr int whole_octet_bytes(const UnpackWgmmaConfig& config) { return terms(config) * 8 * split_line_bytes(); }
constexpr int whole_warpgroup_bytes(const UnpackWgmmaConfig& config) { return 8 * whole_octet_bytes(config); }
/// Registers of a strip's fragments, or of its descriptor.
constexpr int fragment_registers(const UnpackWgmmaConfig& config) {
  if (takes_whole(config)) return 2;
  return takes_fours(config) ? 8 * terms(config) + 1 : 16 * terms(config);
}

/// Whether a strip is unpacked while the one before is multiplied.
constexpr bool unpacks_ahead(const UnpackWgmmaConfig& config) { return config.overlap && !takes_whole(config); }

/// Strips of a warp that are in registers at once.
constexpr int strips_at_once(const UnpackWgmmaConfig& config) {
  return config.kept_blocks > 0 ? config.kept_blocks : config.overlap ? 2 : 1;
}
/// Whether the block splits an f32 B into its terms.
constexpr bool splits_dense(const UnpackWgmmaConfig& config) {
  return !config.prepare_dense && packed_splits(config.mode);
}

/// Whether the copy engine brings to shared memory what it splits, in boxes (spmm/split_copies.h).
constexpr bool copies_units(const UnpackWgmmaConfig& config) { return splits_dense(config) && config.tensor_copies; }

/// Whether a column keeps the scale of its first k block that is not all zeros, under tf32, whose one term has range to
/// spare: sums need no promotion. What is too large for f16 later becomes infinite, and is made again.
constexpr bool keeps_scales(const UnpackWgmmaConfig& config) {
  return copies_units(config) && packed_scales_rows(config.mode) && config.promotion_blocks == 0;
}
/// Whether one promotion is of all of k: totals are where the sums were.
constexpr bool promotes_once(const UnpackWgmmaConfig& config) {
  return keeps_scales(config) || (config.kept_blocks > 0 && config.promotion_blocks >= config.kept_blocks);
}
/// Registers of a thread for sums, and for totals beside them.
constexpr int sum_registers(const UnpackWgmmaConfig& config) {
  return config.tile_columns / 2 * (config.promotion_blocks > 0 && !promotes_once(config) ? 2 : 1);
}

/// Columns of a tile that a lane has of what is left over, side by side; lanes past the last column have none.
constexpr int left_lane_columns(const UnpackWgmmaConfig& config) {
  return config.tile_columns > 32 ? config.tile_columns / 32 : 1;
}
/// Whether a launch before makes rows of a column-major B, which are then copied as they lie: the kernel's own config
/// is without prepare_dense.
constexpr bool transposes_dense(const UnpackWgmmaConfig& config) {
  return config.prepare_dense && config.tensor_copies;
}

/// Whether k runs along the lines of B in shared memory: where it does in a B that was not prepared.
constexpr bool lines_along_k(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return !config.prepare_dense && traits.dense_layout == Layout::column_major;
}

/// Whether tensor cores multiply what is left over in batches (spmm/left_over_batches.h).
constexpr bool batches_left_over(const UnpackWgmmaConfig& config) {
  return takes_fours(config) && !packed_splits(config.mode);
}
/// Whether they can: rows of B that the copy engine brings, one group, idle warps beside the one that copies, whole
/// planes of columns.
constexpr bool can_batch(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return config.tensor_copies && traits.dense_layout == Layout::row_major && config.k_groups == 1 &&
         config.producer_warps > config.warpgroups && config.tile_columns >= 64;
}
/// Warps that collect them: of each warpgroup one.
constexpr int left_collectors(const UnpackWgmmaConfig& config) {
  return batches_left_over(config) ? config.warpgroups : 0;
}
/// Batches of a warpgroup that are in shared memory at once, and their entries.
consteval int left_batches() { return 2; }
consteval int left_batch_rows() { return 16; }
/// Bytes of 64 columns of a batch, of a batch, and of the list of its entries: of each row and value.
consteval int left_plane_bytes() { return left_batch_rows() * split_line_bytes(); }
constexpr int left_batch_bytes(const UnpackWgmmaConfig& config) {
  return batches_left_over(config) ? config.tile_columns / 64 * left_plane_bytes() : 0;
}
consteval int left_list_bytes() { return left_batch_rows() * 8; }
/// Shared memory of a warp that multiplies for a row of f32 sums, where they come before the k blocks.
constexpr int left_scratch_bytes(const UnpackWgmmaConfig& config) {
  return takes_fours(config) && !batches_left_over(config) ? 4 * config.tile_columns : 0;
}
/// Shared memory beside the stages for what is left over: rows of a warp, or batches, their lists and two barriers
/// each.
constexpr int left_over_bytes(const UnpackWgmmaConfig& config) {
  const int batch = left_batch_bytes(config) + left_list_bytes() + 16;
  return consumer_warps(config) * left_scratch_bytes(config) + left_collectors(config) * left_batches() * batch;
}

/// Columns of a prepared tile of B.
constexpr int prepared_columns(const UnpackWgmmaConfig& config) {
  return terms(config) == 2 && config.tile_columns <= 32 ? 32 : 64;
}

/// Whether threads copy B, by cp.async, and not the copy engine.
constexpr bool copies_by_threads(const UnpackWgmmaConfig& config) {
  return !config.prepare_dense && !config.tensor_copies && !splits_dense(config);
}

/// Columns of what the copy engine brings a warp at a time: few take few registers, so that eight warps find room.
consteval int copied_unit_columns() { return 16; }
/// Columns that a warp splits at a time, of one k block. Lines of 128 bytes are loaded best; eight warps share the k
/// blocks of a narrow tile, so that a small product's first ones are there sooner.
constexpr int split_unit_columns(const UnpackWgmmaConfig& config) {
  const bool shares = config.producer_warps == 8 && config.tile_columns == 32;
  return copies_units(config) ? copied_unit_columns() : shares ? 16 : 32;
}

/// Whether columns may keep their scales: of one term, of certified sums, and each split by one warp.
constexpr bool can_keep_scales(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return copies_units(config) && certifies_splits(traits, config) && terms(config) == 1 &&
         config.tile_columns == split_unit_columns(config) * config.producer_warps;
}

/// Units of a block that are in shared memory as they are in B, or on their way there; bytes of each, and of all with a
/// barrier each.
constexpr int copied_units(const UnpackWgmmaConfig& config) {
  if (!copies_units(config)) return 0;
  return keeps_dense(config) ? 2 * config.producer_warps : 16;
}
consteval int copied_unit_bytes() { return packed_strip_columns() * copied_unit_columns() * 4; }
constexpr int copied_bytes(const UnpackWgmmaConfig& config) { return copied_units(config) * (copied_unit_bytes() + 8); }

/// k blocks between two that a splitting warp has a part in.
constexpr int split_block_step(const UnpackWgmmaConfig& config) {
  const int unit_warps = config.producer_warps * split_unit_columns(config);
  return config.tile_columns >= unit_warps ? 1 : unit_warps / config.tile_columns;
}

/// k blocks whose columns of B have one scale: those between two promotions.
constexpr int scale_blocks(const UnpackWgmmaConfig& config) {
  return packed_scales_rows(config.mode) && !keeps_scales(config) ? config.promotion_blocks : 1;
}

/// Planes of 64 columns, or of fewer, side by side in a stage of B whose lines run along the columns.
constexpr int dense_groups(const UnpackWgmmaConfig& config) {
  return config.tile_columns < 64 ? 1 : config.tile_columns / 64;
}

/// Bytes of one such plane, and of its low parts.
constexpr int dense_group_bytes(const UnpackWgmmaConfig& config) {
  return config.prepare_dense || splits_dense(config) ? split_tile_bytes(config.mode, prepared_columns(config))
                                                      : split_plane_bytes();
}

/// Bytes of B in one stage, a multiple of 1024.
constexpr int dense_stage_bytes(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  if (lines_along_k(traits, config)) return terms(config) * config.tile_columns * split_line_bytes();
  return dense_groups(config) * dense_group_bytes(config);
}

/// From an element's high part to its low part in a stage.
constexpr int dense_low_part(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return lines_along_k(traits, config) ? config.tile_columns * split_line_bytes()
                                       : split_low_part(prepared_columns(config));
}

/// Scales of B's columns of one k block.
constexpr int column_scale_bytes(const UnpackWgmmaConfig& config) {
  return packed_scales_rows(config.mode) ? 4 * config.tile_columns : 0;
}

/// Room for the strips of a tile's k block.
constexpr int strip_stage_bytes(const UnpackWgmmaConfig& config) {
  return tile_strips(config) * packed_unit_bytes() *
         static_cast<int>(packed_strip_units(config.grain, static_cast<unsigned>(config.strip_pairs), terms(config)));
}

/// A k block of B, and what a stage holds: strips that are kept and a B that stays have rooms of their own.
constexpr int dense_room_bytes(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return dense_stage_bytes(traits, config) + column_scale_bytes(config);
}
constexpr int stage_bytes(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return (keeps_dense(config) ? 0 : dense_room_bytes(traits, config)) +
         (config.kept_blocks > 0 ? 0 : strip_stage_bytes(config));
}

/// Slices of k that a second launch adds up.
constexpr int launched_slices(const UnpackWgmmaConfig& config) { return config.cluster_sums ? 1 : config.k_split; }

/// The parts of k that add up a tile's sums in the place of the stages.
constexpr TileParts tile_parts(const UnpackWgmmaConfig& config) {
  return {.groups = config.k_groups,
          .blocks = config.cluster_sums ? config.k_split : 1,
          .octets = config.tile_columns / 8,
          .group_warps = group_warps(config)};
}

constexpr int ring_bytes(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  return config.stages * stage_bytes(traits, config) + config.kept_blocks * strip_stage_bytes(config) +
         config.dense_rooms * dense_room_bytes(traits, config);
}

/// Dynamic shared memory of a block: stages, strips that are kept, a B that stays, units to split, what is left over,
/// two barriers for each stage, for each room of B and for kept strips, and that of a cluster's sums.
constexpr int shared_bytes(const UnpackWgmmaTraits& traits, const UnpackWgmmaConfig& config) {
  const int pairs = config.stages * strip_rings(config) + config.dense_rooms + (config.kept_blocks > 0 ? 1 : 0);
  return ring_bytes(traits, config) + copied_bytes(config) + left_over_bytes(config) + pairs * 16 +
         tile_parts(config).barrier_bytes();
}

constexpr int launch_registers(const UnpackWgmmaConfig& config) {
  return launched_registers(threads(config), config.min_blocks);
}

/// Registers of a thread that splits B, which it loads itself or has in shared memory, and of one that collects what is
/// left over.
constexpr int splitting_registers(const UnpackWgmmaConfig& config) {
  if (!copies_units(config)) return split_unit_columns(config) == 32 ? 104 : 80;
  return terms(config) == 2 && config.producer_warps == 4 ? 96 : 72;
}
consteval int collecting_registers() { return 40; }
consteval int strip_warp_registers() { return 24; }

/// Whether warpgroups exchange registers, how many the copying one keeps, and how many each of the others then has.
constexpr bool exchanges_registers(const UnpackWgmmaConfig& config) {
  return keeps_dense(config) || config.producer_warps == 8 ||
         (config.producer_warps == 4 && consumer_warps(config) > 4);
}
constexpr int kept_registers(const UnpackWgmmaConfig& config) {
  if (splits_dense(config)) return splitting_registers(config);
  if (batches_left_over(config)) return collecting_registers();
  return copies_by_threads(config) || config.kept_blocks > 0 ? 40 : 24;
}
constexpr int gained_registers(const UnpackWgmmaConfig& config) {
  const int of_strip_warps = keeps_dense(config) ? launch_registers(config) - strip_warp_registers() : 0;
  return shared_out_registers(launch_registers(config), consumer_warps(config) / 4, kept_registers(config),
                              config.producer_warps / 4, of_strip_warps);
}

/// Registers of a thread that multiplies, besides those of sums and totals.
constexpr int registers_beside_sums(const UnpackWgmmaConfig& config) {
  const int own =
      exchanges_registers(config) ? gained_registers(config) : registers_each(threads(config), config.min_blocks);
  return own - sum_registers(config) -
         (config.kept_blocks > 0 ? (config.kept_blocks - 1) * fragment_registers(config) : 0);
}

/// Rules of a tile, however k is cut.
constexpr void tile_rules(RuleCheck& rule, const UnpackWgmmaTraits& t, const UnpackWgmmaConfig& c) {
  rule("warpgroups is 1, 2 or 4", [&] { return is_power_of_two(c.warpgroups, 1, 4); });
  rule("k_groups is 1, 2 or 4, and all groups together have 4 warpgroups at most",
       [&] { return is_power_of_two(c.k_groups, 1, 4) && (c.k_groups == 1 || c.warpgroups * c.k_groups <= 4); });
  rule("tile_columns is a power of two from 8 to 256", [&] { return is_power_of_two(c.tile_columns, 8, 256); });
  rule("mode is f16x1 or bf16x1 for 16-bit elements, and f16x3, bf16x3 or f16_scaled for f32",
       [&] { return packed_mode_serves(c.mode, t.element); });
  rule("tensor_copies beside prepare_dense takes rows that a launch before made of a column-major B of 16 bits",
       [&] { return !transposes_dense(c) || (t.dense_layout == Layout::row_major && !packed_splits(c.mode)); });
  rule("tensor_copies brings what the block splits of a row-major B",
       [&] { return !copies_units(c) || t.dense_layout == Layout::row_major; });
  rule("stages is 2 to 8", [&] { return within(c.stages, 2, 8); });
  // Parities tell two rounds of a stage apart. A group that comes to a stage must have been there in the round before:
  // copies that were queued in order need not arrive in order.
  rule("stages is a multiple of k_groups, and at least twice as many where they overlap",
       [&] { return c.stages % c.k_groups == 0 && c.stages >= c.k_groups * (c.overlap ? 2 : 1); });
  rule("strip_pairs is a multiple of 4 from 16 to 512, to 256 where a pair is two of four columns",
       [&] { return within(c.strip_pairs, 16, packed_most(c.grain)) && c.strip_pairs % 4 == 0; });
  rule("whole strips have room for all of their pairs",
       [&] { return !takes_whole(c) || c.strip_pairs == packed_most(c.grain); });
  rule("whole strips overlap where sums stay in tensor cores (promotion_blocks 0), and there alone",
       [&] { return !takes_whole(c) || c.overlap == (c.promotion_blocks == 0); });
  rule("promotion_blocks is 0 to 1024; with scales 1, with prepare_dense and one of k_groups 2, of one term 4 too",
       [&] {
         const int most = c.k_groups > 1 || !c.prepare_dense ? 1 : terms(c) == 1 ? 4 : 2;
         return within(c.promotion_blocks, 0, 1024) &&
                (!packed_scales_rows(c.mode) || keeps_scales(c) || is_power_of_two(c.promotion_blocks, 1, most));
       });
  rule("scales that stay (promotion_blocks 0) are of one term, of certified sums, and of columns that one warp splits",
       [&] { return !keeps_scales(c) || can_keep_scales(t, c); });
  rule("raster_rows is 1 to 65536, and min_blocks 1 to 16",
       [&] { return within(c.raster_rows, 1, 65536) && within(c.min_blocks, 1, 16); });
  rule("producer_warps is 4 where warpgroups exchange registers, else 1 or 4; 4 or 8 where they split B", [&] {
    if (splits_dense(c)) return c.producer_warps == 4 || c.producer_warps == 8;
    return c.producer_warps == 4 || (c.producer_warps == 1 && consumer_warps(c) <= 4);
  });
  rule(
      "16-bit pairs of four columns have a row-major B by tensor_copies, one group, tiles of 64 columns and more, and "
      "more "
      "producer_warps than warpgroups",
      [&] { return !batches_left_over(c) || can_batch(t, c); });
  rule("an f32 B is split in tiles of 32 columns and more", [&] { return !splits_dense(c) || c.tile_columns >= 32; });
  rule("warps that split B in turns of several k blocks have stages of their own: a multiple of those",
       [&] { return !splits_dense(c) || c.stages % split_block_step(c) == 0; });
  rule("threads that split B have the registers that they take",
       [&] { return !splits_dense(c) || launch_registers(c) >= splitting_registers(c); });
}

/// Rules of how the k of a tile is cut.
constexpr void slicing_rules(RuleCheck& rule, const UnpackWgmmaTraits& t, const UnpackWgmmaConfig& c) {
  rule("k_split is 1 to 1024", [&] { return within(c.k_split, 1, 1024); });
  rule("persistent blocks have a B that the copy engine brings, one group, and all of k",
       [&] { return !c.persistent || ((c.tensor_copies || c.prepare_dense) && c.k_groups == 1 && c.k_split == 1); });
  rule(
      "kept_blocks is 0 to 16, of persistent blocks, of pairs of one term that are unpacked in turn, of a B that "
      "nobody splits",
      [&] {
        return within(c.kept_blocks, 0, 16) &&
               (c.kept_blocks == 0 ||
                (c.persistent && !c.overlap && terms(c) == 1 && c.grain == PackedGrain::pair && !splits_dense(c)));
      });
  rule(
      "dense_rooms is 0 to 16, of persistent blocks and whole strips, of a B that the copy engine brings and the block "
      "splits",
      [&] {
        return within(c.dense_rooms, 0, 16) &&
               (c.dense_rooms == 0 || (c.persistent && takes_whole(c) && copies_units(c)));
      });
  cluster_rule(rule, c);
  rule("the sums of k_groups, or of a cluster's slices, fit in the place of the stages",
       [&] { return tile_parts(c).bytes() <= ring_bytes(t, c); });
  rule("sums are set aside where columns have scales", [&] { return !t.long_sums || packed_scales_rows(c.mode); });
}

constexpr void kernel_rules(RuleCheck& rule, const UnpackWgmmaTraits& t, const UnpackWgmmaConfig& c) {
  tile_rules(rule, t, c);
  slicing_rules(rule, t, c);
}

static_assert(UnpacksByWarpgroups<UnpackWgmmaTraits, UnpackWgmmaConfig>, "a part lacks what it asks of a config");

}  // namespace vostok
