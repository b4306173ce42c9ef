// The certificate of a sum whose B was split into two f16 terms: what may have been lost of a warp's columns, k block after k block.
//
// An element that loses more than its rounding loses at most 2^-25, as it is scaled, and A's elements are below 2^14, as they are. A sum that is 2^18
// times as large as all that together errs by less than the contract allows (src/README.md, "Accuracy"). A smaller one vouches for nothing: it
// becomes NaN, which whoever stores C makes again (spmm/sums_again.h).
#pragma once

#include "abi/column_loss.h"
#include "parts/vector.h"

namespace vostok {

/// Of so many columns of a warp, two neighbours of every 64 a lane.
template <int columns>
class ColumnLosses {
  static constexpr int chunks = (columns + 63) / 64;
  static constexpr unsigned everyone = 0xffffffffU;
  static constexpr unsigned lanes = columns < 64 ? columns / 2 : 32;  ///< that have columns of their own

 public:
  /// Takes in the scales of a k block, those of two columns from `first` on by load(first).
  template <class Load>
  __device__ void add(Load load) {
#pragma unroll
    for (int i = 0; i < chunks; ++i) {
      const Vector<float, 2> scales = load(64 * i + threadIdx.x % lanes * 2);
      const unsigned bits[2] = {__builtin_bit_cast(unsigned, scales.at[0]), __builtin_bit_cast(unsigned, scales.at[1])};
      if (is_marked(bits[0] | bits[1])) {
#pragma unroll
        for (int j = 0; j < 2; ++j) lost_[i][j] = fmaf(marked_count(bits[j]), scales.at[j], lost_[i][j]);
      }
    }
  }

  /// Once all are in, before vouch(). Every lane calls it.
  __device__ void end() {
    bool any = false;
#pragma unroll
    for (int i = 0; i < chunks; ++i) any = any || lost_[i][0] > 0 || lost_[i][1] > 0;
    any_ = __any_sync(everyone, any);
  }

  /// Makes NaN of the sums of an octet that cannot vouch for themselves. `inverses`: the inverse scales of the fragment's two rows. Every lane calls
  /// it.
  __device__ void vouch(float (&sums)[4], int octet, const float (&inverses)[2]) const {
    if (!any_) return;
    constexpr float largest_over_share = 0x1p7F;  // 2^14 2^-25 2^18
    float bars[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) bars[j] = largest_over_share * __shfl_sync(everyone, lost_[octet / 8][j], octet % 8 * 4 + threadIdx.x % 4);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (!(fabsf(sums[i]) >= bars[i % 2] * inverses[i / 2])) sums[i] = __builtin_bit_cast(float, 0x7fc00000U);
  }

 private:
  float lost_[chunks][2] = {};  ///< of the lane's columns: elements times inverse scales
  bool any_ = false;
};

/// Nothing is lost.
struct NoLosses {
  template <class Load>
  __device__ void add(Load) {}
  __device__ void end() {}
  __device__ void vouch(float (&)[4], int, const float (&)[2]) const {}
};

template <int columns, bool exist>
struct LossesOf {
  using Type = NoLosses;
};
template <int columns>
struct LossesOf<columns, true> {
  using Type = ColumnLosses<columns>;
};

}  // namespace vostok
