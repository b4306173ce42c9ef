// What unpack_mma demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons;
// these are for whoever writes an expression by hand.
#pragma once

#include "abi/unpack_mma.h"

namespace vostok {

template <class F>
struct UnpackMmaRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static constexpr bool power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }
  static_assert((terms(c) == 2) == (t.element == Dtype::f32), "f32 is split into two terms, 16-bit elements are one");
  static_assert(t.element == Dtype::f32 || packed_is_f16(c.mode) == (t.element == Dtype::f16), "a 16-bit element is its mode's own");
  static_assert(power_of_two(c.row_warps) && power_of_two(c.column_warps) && power_of_two(c.k_warps) && threads(c) <= 1024,
                "a block has a power of two of 1 to 32 warps");
  static_assert(c.k_warps == 1 || (c.row_warps == 1 && c.column_warps == 1), "warps that take k blocks in turn have the same strips and columns");
  static_assert(power_of_two(c.warp_strips) && tile_strips(c) <= packed_row_strip_multiple(), "a tile has 1, 2, 4, 8 or 16 strips");
  static_assert(power_of_two(c.warp_columns) && c.warp_columns >= 8 && c.warp_columns <= 128, "warp_columns is a power of two from 8 to 128");
  static_assert(tile_columns(c) <= 256, "a tile has at most 256 columns");
  static_assert(c.stages >= (splits_dense(c) ? 3 : 2) && c.stages <= 8, "stages is 2 to 8, and at least 3 where blocks split B");
  static_assert(c.strip_pairs >= 4 && c.strip_pairs <= packed_most_pairs() && c.strip_pairs % 4 == 0, "strip_pairs is a multiple of 4 up to 512");
  static_assert(c.promotion_blocks >= 0, "promotion_blocks is 0 or more");
  static_assert(!packed_scales_rows(c.mode) || c.promotion_blocks == 1, "scales belong to a k block: mode f16x3 promotes after each");
  static_assert(c.k_split >= 1, "k_split is at least 1");
  static_assert(!c.prepare_dense || terms(c) == 2, "what is prepared is split");
  static_assert(!c.stream_strips || c.bulk_strips, "strips are streamed by the copy engine: bulk_strips");
  static_assert(c.raster_rows >= 1 && c.min_blocks >= 1, "raster_rows and min_blocks are at least 1");
};

}  // namespace vostok
