// The certificate of a sum whose operands were split into two f16 terms: what may have been lost of a warp's columns, k block after k block, and of
// its rows.
//
// An element that loses more than its rounding loses at most 2^-25, as it is scaled, and what it meets is below 2^14, as that is. A sum that is 2^18
// times as large as all that together errs by less than the contract allows (src/README.md, "Accuracy"). A smaller one vouches for nothing: it
// becomes NaN, which whoever stores C makes again (spmm/sums_again.h).
#pragma once

#include "abi/column_loss.h"
#include "parts/vector.h"
#include "spmm/row_factors.h"

namespace vostok {

/// Of so many columns of a warp, two neighbours of every 64 a lane. In registers: the loop looks at them at every promotion, and a block that fills
/// shared memory leaves no cache for a thread's own (bench/notes/certificates.md#what-it-costs).
template <int columns>
class ColumnLosses {
  static constexpr int chunks = (columns + 63) / 64;
  static constexpr unsigned everyone = 0xffffffffU;
  static constexpr unsigned lanes = columns < 64 ? columns / 2 : 32;  ///< that have columns of their own

 public:
  /// Before the first add(): whether a row of the warp that the lane knows loses anything. Every lane calls it.
  __device__ void expect(bool row_loses) { rows_lose_ = __any_sync(everyone, row_loses); }

  /// Takes in the inverse scales of a k block, those of two columns from `first` on by load(first).
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
      if (rows_lose_) {
#pragma unroll
        for (int j = 0; j < 2; ++j) largest_[i][j] = fmaxf(largest_[i][j], scales.at[j]);
      }
    }
  }

  /// Once all are in, before vouch(). Every lane calls it.
  __device__ void end() {
    bool any = rows_lose_;
#pragma unroll
    for (int i = 0; i < chunks; ++i) any = any || lost_[i][0] > 0 || lost_[i][1] > 0;
    any_ = __any_sync(everyone, any);
  }

  /// Makes NaN of the sums of an octet that cannot vouch for themselves. `rows`: the fragment's two. Every lane calls it.
  __device__ void vouch(float (&sums)[4], int octet, const RowLoss (&rows)[2]) const {
    if (!any_) return;
    constexpr float largest_over_share = 0x1p7F;  // 2^14 2^-25 2^18
    const unsigned owner = octet % 8 * 4 + threadIdx.x % 4;
    float lost[2];
    float largest[2] = {};
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      lost[j] = largest_over_share * __shfl_sync(everyone, lost_[octet / 8][j], owner);
      if (rows_lose_) largest[j] = largest_over_share * __shfl_sync(everyone, largest_[octet / 8][j], owner);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float bar = fmaf(rows[i / 2].lossy, largest[i % 2], lost[i % 2]) * rows[i / 2].inverse;
      if (!(fabsf(sums[i]) >= bar)) sums[i] = __builtin_bit_cast(float, 0x7fc00000U);
    }
  }

 private:
  float lost_[chunks][2] = {};     ///< of the lane's columns: elements times inverse scales
  float largest_[chunks][2] = {};  ///< inverse scale of each, where rows lose something
  bool rows_lose_ = false;
  bool any_ = false;
};

/// Nothing is lost.
struct NoLosses {
  template <class Load>
  __device__ void add(Load) {}
  __device__ void end() {}
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
