// unpack_mma, an SpMM on tensor cores (mma.sync, sm_80 and later) from packed strips: what host and kernels share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"
#include "abi/part_contracts.h"
#include "abi/strip_stages.h"
#include "abi/sums_again.h"
#include "abi/unpack_sum.h"

namespace vostok {

/// What the problem fixes.
struct UnpackMmaTraits {
  Dtype element = Dtype::f16;  ///< of B
  Dtype output = Dtype::f16;
  bool batched = false;
  Layout dense_layout = Layout::row_major;
  Layout output_layout = Layout::row_major;
  int dense_alignment = 16;   ///< bytes that divide every line start of B
  int output_alignment = 16;  ///< bytes that divide every line start of C and of the residual, and the length of lines
  Bias bias = Bias::none;
  Activation activation = Activation::none;
  Scale scale = Scale::one;
  bool residual = false;
  bool accumulate = false;
  Dtype bias_element = Dtype::f32;  ///< of the bias
  bool certify = false;  ///< sums that splitting, or elements of B which A lacks, may have spoilt are made again
                         ///< (spmm/sums_again.h)
};

/// The tunables.
struct UnpackMmaConfig {
  PackedMode mode = PackedMode::f16x1;
  int row_warps = 4;     ///< warps of a block along the rows
  int column_warps = 1;  ///< and along the columns: each of them unpacks the same strips
  int k_warps = 1;  ///< or warps that take the tile's k blocks in turn, each with stages of its own, and add up their
                    ///< sums at the end
  int warp_strips = 2;  ///< strips of 16 rows of a warp
  int warp_columns = 32;
  int stages = 4;         ///< k blocks whose operands are in shared memory or on their way there
  int strip_pairs = 512;  ///< pairs for which a stage has room, for each strip of the tile; k blocks with more are
                          ///< unpacked from global memory
  int promotion_blocks =
      1;            ///< k blocks after which sums are taken out of the tensor cores, whose additions cut; 0: never
  int k_split = 1;  ///< slices of k, summed in order by a second launch
  bool prepare_dense = false;  ///< f32: B is split into two terms by a launch before, not by every block
  int raster_rows = 8;         ///< row tiles that are walked before the next column tile
  int min_blocks = 1;          ///< blocks per multiprocessor that registers must allow
  bool stream_output = false;  ///< C is stored as data that will not be read soon
  bool bulk_strips = false;  ///< the strips of a k block are copied by the copy engine (sm_90 and later), all at once;
                             ///< else by the threads
  bool stream_strips =
      false;  ///< and read as data that will not be read soon: weights that L2 cannot hold until the next call

  friend constexpr bool operator==(const UnpackMmaConfig&, const UnpackMmaConfig&) = default;
};

struct UnpackMmaArgs {
  PackedStrips strips;
  const void* dense;           ///< B, or split tiles
  WholeDense whole_dense;      ///< read where sums are made again
  const float* column_scales;  ///< of split tiles: [k_blocks, column_scale_stride]; read where the mode scales
  void* output;
  const void* residual;  ///< lies as C does
  const void* bias;
  const float* device_scale;
  PartialSums partial;  ///< where k_split > 1
  long long m;
  long long k;
  long long n;
  long long dense_leading;   ///< elements between lines of B
  long long output_leading;  ///< the same of C
  long long dense_stride;    ///< elements between two B of a batch; of split tiles, bytes
  long long output_stride;
  long long column_scale_stride;
  unsigned batch;
  unsigned row_tiles;
  unsigned column_tiles;
  unsigned slice_blocks;  ///< k blocks of a slice; the last may have fewer
  float scale;
};

template <FieldsOf<UnpackMmaTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("batched", traits.batched);
  visit("dense_layout", traits.dense_layout);
  visit("output_layout", traits.output_layout);
  visit("dense_alignment", traits.dense_alignment);
  visit("output_alignment", traits.output_alignment);
  visit("bias", traits.bias);
  visit("activation", traits.activation);
  visit("scale", traits.scale);
  visit("residual", traits.residual);
  visit("accumulate", traits.accumulate);
  visit("bias_element", traits.bias_element);
  visit("certify", traits.certify);
}

template <FieldsOf<UnpackMmaConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("mode", config.mode);
  visit("row_warps", config.row_warps);
  visit("column_warps", config.column_warps);
  visit("k_warps", config.k_warps);
  visit("warp_strips", config.warp_strips);
  visit("warp_columns", config.warp_columns);
  visit("stages", config.stages);
  visit("strip_pairs", config.strip_pairs);
  visit("promotion_blocks", config.promotion_blocks);
  visit("k_split", config.k_split);
  visit("prepare_dense", config.prepare_dense);
  visit("raster_rows", config.raster_rows);
  visit("min_blocks", config.min_blocks);
  visit("stream_output", config.stream_output);
  visit("bulk_strips", config.bulk_strips);
  visit("stream_strips", config.stream_strips);
}

/// Whether sums are certified against what splitting B loses (spmm/column_losses.h).
constexpr bool certifies_splits(const UnpackMmaTraits& traits, const UnpackMmaConfig& config) {
  return traits.certify && packed_scales_rows(config.mode);
}

constexpr StripsKind strips_kind(const UnpackMmaTraits& traits, const UnpackMmaConfig& config) {
  return {config.mode, PackedGrain::pair, false, certifies_splits(traits, config)};
}

/// Teams of warps that fill stages and multiply from them on their own.
constexpr int teams(const UnpackMmaConfig& config) { return config.k_warps; }
constexpr int threads(const UnpackMmaConfig& config) {
  return 32 * config.row_warps * config.column_warps * teams(config);
}
constexpr int tile_strips(const UnpackMmaConfig& config) { return config.row_warps * config.warp_strips; }
constexpr int tile_rows(const UnpackMmaConfig& config) { return packed_strip_rows() * tile_strips(config); }
constexpr int tile_columns(const UnpackMmaConfig& config) { return config.column_warps * config.warp_columns; }

/// Terms that a value is split into.
constexpr int terms(const UnpackMmaConfig& config) { return packed_pair_words(config.mode); }

/// f32 sums of one kind that a lane has.
constexpr int lane_sums(const UnpackMmaConfig& config) { return config.warp_strips * config.warp_columns / 2; }

/// Whether products with a low term are kept out of the sums of a k block until these are complete. Next to a sum of
/// high terms more of them would be cut off than `accurate` allows where all elements are alike: three quarters of it
/// after one k block.
constexpr bool keeps_low_products_apart(const UnpackMmaConfig& config) { return config.mode == PackedMode::f16x3; }

/// Whether they have sums of their own. Where registers are too few they are summed first, and strips are unpacked
/// twice.
constexpr bool has_low_sums(const UnpackMmaConfig& config) {
  return keeps_low_products_apart(config) && lane_sums(config) <= 32;
}

/// Whether the blocks split B themselves.
constexpr bool splits_dense(const UnpackMmaConfig& config) {
  return packed_splits(config.mode) && !config.prepare_dense;
}

/// Whether B lies in shared memory with k running along its lines, as its fragments are then read: a column-major B,
/// and what the block splits itself.
constexpr bool stages_columns(const UnpackMmaTraits& traits, const UnpackMmaConfig& config) {
  return splits_dense(config) || (!config.prepare_dense && traits.dense_layout == Layout::column_major);
}

/// Bytes of one 16-bit term of B's tile for a k block.
constexpr int dense_term_bytes(const UnpackMmaConfig& config) {
  return packed_strip_columns() * tile_columns(config) * 2;
}

/// Bytes of a buffer of what the block splits.
constexpr int split_buffer_bytes(const UnpackMmaConfig& config) {
  return splits_dense(config) ? dense_term_bytes(config) * terms(config) : 0;
}

/// Bytes of B in one stage: its 16-bit terms, or the f32 that the block will split.
constexpr int dense_stage_bytes(const UnpackMmaConfig& config) {
  return dense_term_bytes(config) * (splits_dense(config) ? 2 : terms(config));
}

/// Room for the strips of a tile's k block, in units of 16 bytes.
constexpr int strip_stage_units(const UnpackMmaConfig& config) {
  return tile_strips(config) * static_cast<int>(packed_strip_units(
                                   PackedGrain::pair, static_cast<unsigned>(config.strip_pairs), terms(config)));
}

/// Scales of B's columns of one k block.
constexpr int column_scale_bytes(const UnpackMmaConfig& config) {
  return packed_scales_rows(config.mode) ? 4 * tile_columns(config) : 0;
}

/// Whether the strips of a stage arrive at a barrier of it.
constexpr bool copies_in_bulk(const UnpackMmaConfig& config) { return config.bulk_strips; }

/// Those barriers, one for each stage of each team. They come after all that the teams' sums may overwrite.
constexpr int strip_barriers(const UnpackMmaConfig& config) {
  return copies_in_bulk(config) ? teams(config) * config.stages : 0;
}

/// Buffers of what the block splits: one is filled while the other is multiplied.
consteval int split_buffers() { return 2; }

/// Shared memory of a team.
constexpr int team_shared_bytes(const UnpackMmaConfig& config) {
  const int split =
      splits_dense(config) ? split_buffers() * (split_buffer_bytes(config) + column_scale_bytes(config)) : 0;
  const int scales = splits_dense(config) ? 0 : config.stages * column_scale_bytes(config);
  return (strip_ring_bytes(config) + split + scales + 127) / 128 * 128;
}

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const UnpackMmaTraits&, const UnpackMmaConfig& config) {
  return teams(config) * team_shared_bytes(config) + (8 * strip_barriers(config) + 127) / 128 * 128;
}

/// What the teams' sums take of it at the end.
constexpr int team_sums_bytes(const UnpackMmaConfig& config) {
  return teams(config) == 1 ? 0 : threads(config) * 4 * lane_sums(config);
}

constexpr void kernel_rules(RuleCheck& rule, const UnpackMmaTraits& t, const UnpackMmaConfig& c) {
  warp_tile_rules(rule, c);
  rule("a block has a power of two of 1 to 32 warps",
       [&] { return is_power_of_two(c.k_warps, 1, 32) && threads(c) <= 1024; });
  rule("k_warps of several have the same strips and columns: row_warps and column_warps are 1",
       [&] { return c.k_warps == 1 || (c.row_warps == 1 && c.column_warps == 1); });
  rule("mode is f16x1 or bf16x1 for 16-bit elements, and f16x3, bf16x3 or f16_scaled for f32",
       [&] { return packed_mode_serves(c.mode, t.element); });
  rule("only f32 is prepared", [&] { return !c.prepare_dense || packed_splits(c.mode); });
  rule("stages is 2 to 8, and at least 3 where blocks split B",
       [&] { return within(c.stages, splits_dense(c) ? 3 : 2, 8); });
  rule("strip_pairs is a multiple of 4 up to 512",
       [&] { return within(c.strip_pairs, 4, packed_most_pairs()) && c.strip_pairs % 4 == 0; });
  rule("stream_strips is for strips that come in bulk", [&] { return !c.stream_strips || c.bulk_strips; });
  rule("promotion_blocks is 0 to 1024, and 1 where each k block has scales of its own",
       [&] { return within(c.promotion_blocks, 0, 1024) && (!packed_scales_rows(c.mode) || c.promotion_blocks == 1); });
  rule("a line of B has no more chunks than the threads that copy it",
       [&] { return c.prepare_dense || dense_line_chunks(t, c) <= threads(c) / teams(c); });
  rule("the sums of k_warps fit in the place of the stages",
       [&] { return team_sums_bytes(c) <= teams(c) * team_shared_bytes(c); });
}

static_assert(UnpacksByTeams<UnpackMmaTraits, UnpackMmaConfig>, "a part lacks what it asks of a config");

}  // namespace vostok
