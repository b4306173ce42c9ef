// tensor_sample, an SDDMM on tensor cores (mma.sync, sm_80 and later): what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/rules.h"
#include "abi/sample_operands.h"
#include "abi/tile_lists.h"

namespace vostok {

/// What the problem fixes.
struct TensorSampleTraits {
  Dtype element = Dtype::f32;
  Dtype output = Dtype::f32;
  bool one_block = false;  ///< n is one block, and so is every sum
  Scale scale = Scale::one;
  bool multiply = false;
  bool accumulate = false;
  bool certify = false;  ///< of f32: sums that the split may have spoilt are made again (sddmm/sample_certificate.h)
  Layout lhs_layout = Layout::row_major;  ///< of A and of B, where they are copied from where they lie
  Layout rhs_layout = Layout::row_major;
};

/// The tunables.
struct TensorSampleConfig {
  PackedMode mode = PackedMode::f16x3;
  int row_warps = 2;
  int column_warps = 2;
  int warp_rows = 64;
  int warp_columns = 32;
  int stages = 2;  ///< n blocks that are in shared memory or on their way there
  int promotion_steps =
      2;  ///< steps of 16 n after which sums are taken out of the tensor cores, whose additions cut; 0: never
  bool low_first = false;  ///< products with a low term are added before the others of an n block
  int kept_blocks = 0;     ///< n blocks of A's tile that stay while tiles of B go by: one in registers, more in shared
                           ///< memory; 0: A goes by as well
  int tiles_per_block = 1;
  int list_room =
      1024;         ///< entries of a tile's list that shared memory has room for; others are read where they are used
  int n_split = 1;  ///< parts of n that different blocks sum; another kernel adds them in order
  int min_blocks = 1;  ///< blocks per multiprocessor that registers must allow
  bool stream_output = false;

  friend constexpr bool operator==(const TensorSampleConfig&, const TensorSampleConfig&) = default;
};

/// A or B as it is. Steps are in elements.
struct SampledRows {
  const float* first;
  long long row_step;
  long long n_step;
  long long stride;  ///< between two matrices of the batch
};

/// A or B, prepared.
struct SampledOperand {
  const unsigned char* octets;
  const signed char* exponents;
  const unsigned char* marks;
  unsigned octet_count;
  SampledRows rows;  ///< read only where sums are certified
};

struct TensorSampleArgs {
  TileLists lists;
  SampledOperand lhs;
  SampledOperand rhs;
  void* output;            ///< D's nonzeros, or the parts of their sums: [batch, parts, nonzeros]
  const void* multiplier;  ///< C's nonzeros; read only where the traits multiply
  const float* device_scale;
  long long output_stride;
  long long multiplier_stride;
  unsigned n_steps;      ///< of 16
  unsigned part_blocks;  ///< n blocks of a part; the last may have fewer
  unsigned batch;
  float scale;
  unsigned n;
};

template <FieldsOf<TensorSampleTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("output", traits.output);
  visit("one_block", traits.one_block);
  visit("scale", traits.scale);
  visit("multiply", traits.multiply);
  visit("accumulate", traits.accumulate);
  visit("certify", traits.certify);
  visit("lhs_layout", traits.lhs_layout);
  visit("rhs_layout", traits.rhs_layout);
}

template <FieldsOf<TensorSampleConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("mode", config.mode);
  visit("row_warps", config.row_warps);
  visit("column_warps", config.column_warps);
  visit("warp_rows", config.warp_rows);
  visit("warp_columns", config.warp_columns);
  visit("stages", config.stages);
  visit("promotion_steps", config.promotion_steps);
  visit("low_first", config.low_first);
  visit("kept_blocks", config.kept_blocks);
  visit("tiles_per_block", config.tiles_per_block);
  visit("list_room", config.list_room);
  visit("n_split", config.n_split);
  visit("min_blocks", config.min_blocks);
  visit("stream_output", config.stream_output);
}

consteval int steps_of_block() { return sample_block() / 16; }

constexpr int threads(const TensorSampleConfig& config) { return 32 * config.row_warps * config.column_warps; }
constexpr int tile_rows(const TensorSampleConfig& config) { return config.row_warps * config.warp_rows; }
constexpr int tile_columns(const TensorSampleConfig& config) { return config.column_warps * config.warp_columns; }
constexpr TileShape tile_shape(const TensorSampleConfig& config) { return {tile_rows(config), tile_columns(config)}; }

/// f32 sums of a lane.
constexpr int lane_sums(const TensorSampleConfig& config) { return config.warp_rows * config.warp_columns / 32; }

/// Whether sums that were taken out of the tensor cores are added to a second set.
constexpr bool promotes(const TensorSampleTraits& traits, const TensorSampleConfig& config) {
  return config.promotion_steps > 0 && !(traits.one_block && config.promotion_steps >= steps_of_block());
}

/// Bytes of an n block of a tile's rows of A, and of B.
constexpr int lhs_block_bytes(const TensorSampleConfig& config) {
  return tile_rows(config) / sample_octet_rows() * sample_octet_bytes(config.mode);
}
constexpr int rhs_block_bytes(const TensorSampleConfig& config) {
  return tile_columns(config) / sample_octet_rows() * sample_octet_bytes(config.mode);
}
constexpr int sample_stage_bytes(const TensorSampleConfig& config) {
  return rhs_block_bytes(config) + (config.kept_blocks == 0 ? lhs_block_bytes(config) : 0);
}

/// What A's tile takes where it stays in shared memory.
constexpr int kept_bytes(const TensorSampleConfig& config) {
  return config.kept_blocks > 1 ? config.kept_blocks * lhs_block_bytes(config) : 0;
}

/// The tile's sums on their way to the output, or A's tile on its way to registers.
constexpr int sums_bytes(const TensorSampleConfig& config) {
  const int sums = 4 * tile_rows(config) * tile_columns(config);
  return config.kept_blocks == 1 && lhs_block_bytes(config) > sums ? lhs_block_bytes(config) : sums;
}

/// Sums lie where the stages were where a block has one tile.
constexpr bool sums_follow_stages(const TensorSampleConfig& config) { return config.tiles_per_block > 1; }

/// Whether sums are certified: those of f32, whose elements are split. Sums of 16-bit elements are what they are.
constexpr bool certifies(const TensorSampleTraits& traits) { return traits.certify && traits.element == Dtype::f32; }
/// Whether by what is known of their rows. Without scales they only have to be finite.
template <class Config>
constexpr bool marks_rows(const TensorSampleTraits& traits, const Config& config) {
  return certifies(traits) && sample_scales_rows(config.mode, traits.element);
}
/// Whether by the sums of their rows' magnitudes, which blocks make that split them in place.
template <class Config>
constexpr bool sums_magnitudes(const TensorSampleTraits& traits, const Config& config) {
  return certifies(traits) && !packed_stores_terms(config.mode);
}

/// What is known of a tile before its sums are: where it is, its rows' shifts, exponents of rows and columns, their
/// marks, and the beginning of its list.
constexpr int tile_info_bytes(const TileShape& shape, int list_room, bool marked) {
  constexpr int part_bytes = 16;  // parts start at multiples of it, as the last one of the marks does, a number
  const int marks = marked ? shape.rows + shape.columns + part_bytes : 0;
  return static_cast<int>(sizeof(SampleTile)) + 5 * shape.rows + shape.columns + 2 * list_room + marks;
}
template <class Config>
constexpr int tile_info_bytes(const TensorSampleTraits& traits, const Config& config) {
  return tile_info_bytes(tile_shape(config), config.list_room, marks_rows(traits, config));
}
/// Tiles of which this is in shared memory or on its way there: with the one that is worked at, as many as there are
/// stages.
constexpr int tile_infos(const TensorSampleConfig& config) { return config.tiles_per_block == 1 ? 1 : config.stages; }

/// Dynamic shared memory of a block.
constexpr int shared_bytes(const TensorSampleTraits& traits, const TensorSampleConfig& config) {
  const int stages = config.stages * sample_stage_bytes(config);
  const int sums = sums_bytes(config);
  const int front = sums_follow_stages(config) ? stages + sums : stages > sums ? stages : sums;
  return (front + kept_bytes(config) + tile_infos(config) * tile_info_bytes(traits, config) + 127) / 128 * 128;
}

/// Rules of a tile's elements and lists. They rely on a tile of few elements.
template <class Config>
constexpr void sample_rules(RuleCheck& rule, const TensorSampleTraits& t, const Config& c) {
  rule("16-bit elements are multiplied in their own mode, and f16x1 is f32's mode of one term", [&] {
    return t.element == Dtype::f32 ? c.mode != PackedMode::f16_scaled : packed_mode_serves(c.mode, t.element);
  });
  rule("stages is 2 to 8", [&] { return within(c.stages, 2, 8); });
  rule("list_room is a multiple of 8 from 8 to the tile's elements",
       [&] { return within(c.list_room, 8, tile_rows(c) * tile_columns(c)) && c.list_room % 8 == 0; });
  rule("n_split is a power of two of at most 1024", [&] { return is_power_of_two(c.n_split, 1, 1024); });
  rule("n is cut between blocks of 64: n_split is 1 where it is one", [&] { return c.n_split == 1 || !t.one_block; });
}

constexpr void kernel_rules(RuleCheck& rule, const TensorSampleTraits& t, const TensorSampleConfig& c) {
  rule("a block has 1 to 32 warps",
       [&] { return within(c.row_warps, 1, 32) && within(c.column_warps, 1, 32) && threads(c) <= 1024; });
  rule("a warp has a multiple of 16 rows and of 16 columns, of each at most 128", [&] {
    return within(c.warp_rows, 16, 128) && c.warp_rows % 16 == 0 && within(c.warp_columns, 16, 128) &&
           c.warp_columns % 16 == 0;
  });
  rule("a tile has a multiple of 32 rows, a power of two of columns from 32 to 512, and at most 2^16 elements", [&] {
    return tile_rows(c) % 32 == 0 && is_power_of_two(tile_columns(c), 32, 512) &&
           tile_rows(c) * tile_columns(c) <= 1 << 16;
  });
  sample_rules(rule, t, c);
  rule("mode has terms of 16 bits", [&] { return packed_stores_terms(c.mode); });
  rule("promotion_steps is 0, 1, 2 or 4",
       [&] { return c.promotion_steps == 0 || is_power_of_two(c.promotion_steps, 1, steps_of_block()); });
  rule("low_first needs products with a low term, and sums of whole n blocks", [&] {
    const bool whole_blocks = c.promotion_steps == 0 || c.promotion_steps == steps_of_block();
    return !c.low_first || (sample_terms(c.mode) == 2 && whole_blocks);
  });
  rule("tiles_per_block is 1 to 65536", [&] { return within(c.tiles_per_block, 1, 65536); });
  rule("kept_blocks is 0 to 8, and 0 unless a block has several tiles and n is in one part",
       [&] { return c.kept_blocks == 0 || (within(c.kept_blocks, 1, 8) && c.tiles_per_block > 1 && c.n_split == 1); });
  rule("A's tile stays in registers where n is one block: else kept_blocks is not 1",
       [&] { return c.kept_blocks != 1 || t.one_block; });
  rule("min_blocks is 1 to 32", [&] { return within(c.min_blocks, 1, 32); });
}

}  // namespace vostok
