// A warpgroup's sums of 64 rows of a tile's dense product. A tensor core cuts what it adds instead of rounding it, so
// sums may be taken out of it into a second set, which is added in f32.
#pragma once

namespace vostok {

/// The product that derives from it multiplies into sums_. `promotes`: sums are taken out.
template <int columns, bool promotes>
class WarpgroupSums {
 public:
  static constexpr int strip_count = 1;
  static constexpr int octet_count = columns / 8;

  __device__ void clear() {
    if constexpr (promotes)
#pragma unroll
      for (float& total : totals_) total = 0.0F;
  }

  /// After the products are done.
  __device__ void promote() {
    if constexpr (promotes)
#pragma unroll
      for (int i = 0; i < count; ++i) totals_[i] += sums_[i];
  }

  /// Element i of the accumulator's fragment (parts/mma.h) of the warp's 16 rows and an octet of columns.
  __device__ float element(int, int octet, int i) const {
    if constexpr (promotes) return totals_[4 * octet + i];
    else return sums_[4 * octet + i];
  }

 protected:
  __device__ WarpgroupSums() : sums_{} {}

  static constexpr int count = columns / 2;  ///< sums of a thread
  float sums_[count];

 private:
  float totals_[promotes ? count : 1];
};

}  // namespace vostok
