// The certificate of a sum whose operands were scaled and split into f16 terms: what may have been lost of a warp's
// columns, k block after k block, and of its rows.
//
// An element that loses more than its rounding loses at most 2^-25, as it is scaled, and what it meets is below 2^14,
// as that is. A sum that is 2^18 times as large as all that together, 2^11 times with one term under tf32, errs by less
// than the contract allows (src/README.md, "Accuracy"). A smaller one vouches for nothing: it becomes NaN, which
// whoever stores C makes again (spmm/sums_again.h).
#pragma once

#include "abi/column_loss.h"
#include "abi/either.h"
#include "parts/vector.h"
#include "spmm/row_factors.h"

namespace vostok {

/// Of so many columns of a warp, two neighbours of every 64 a lane. In registers, and with few instructions: the loop
/// looks at them at every promotion (bench/notes/certificates.md#what-it-costs).
/// `keeps`: scales were chosen before all elements were seen, so that these are below 2^16, not 2^14.
template <int columns, PackedMode mode, bool keeps>
class ColumnLosses {
  static constexpr int chunks = (columns + 63) / 64;
  static constexpr unsigned everyone = 0xffffffffU;
  static constexpr unsigned lanes = columns < 64 ? columns / 2 : 32;  ///< that have columns of their own
  static constexpr unsigned row_loses_bit = 4;                        ///< in no inverse scale, whose mark has two bits

 public:
  /// Before the first add(): whether a row of the warp that the lane knows loses anything.
  __device__ void expect(bool row_loses) { found_ = row_loses ? row_loses_bit : 0; }

  /// Takes in the inverse scales of a k block, those of two columns from `first` on by load(first).
  template <class Load>
  __device__ void add(Load load) {
#pragma unroll
    for (int i = 0; i < chunks; ++i) {
      const Vector<float, 2> scales = load(64 * i + threadIdx.x % lanes * 2);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        found_ |= __builtin_bit_cast(unsigned, scales.at[j]);
        largest_[i][j] = fmaxf(largest_[i][j], scales.at[j]);
      }
    }
  }

  /// Once all are in, before find_bars(): there were at most so many k blocks. Every lane calls it.
  __device__ void end(unsigned k_blocks) {
    lossy_ = marked_count(found_) * static_cast<float>(k_blocks);
    any_ = __any_sync(everyone, (found_ & (marked_scale_mask() | row_loses_bit)) != 0);
  }

  /// Whether anything is lost, after end(): the same for the whole warp.
  __device__ bool any() const { return any_; }

  /// From which magnitudes on an octet's sums vouch for themselves. `rows`: the fragment's two. Every lane calls it.
  __device__ void find_bars(float (&bars)[4], int octet, const RowLoss (&rows)[2]) const {
    // 2^14 2^-25 2^18, or 2^11
    constexpr float largest_over_share = (packed_pair_words(mode) == 2 ? 0x1p7F : 1.0F) * (keeps ? 4 : 1);
    const unsigned owner = octet % 8 * 4 + threadIdx.x % 4;
    const float lossy = __shfl_sync(everyone, lossy_, owner);
    float largest[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) largest[j] = largest_over_share * __shfl_sync(everyone, largest_[octet / 8][j], owner);
#pragma unroll
    for (int i = 0; i < 4; ++i) bars[i] = (lossy + rows[i / 2].lossy) * largest[i % 2] * rows[i / 2].inverse;
  }

 private:
  float largest_[chunks][2] = {};  ///< inverse scale of each of the lane's columns
  unsigned found_ = 0;             ///< the bits of all of them
  float lossy_ = 0;                ///< a bound of how many elements lose something in each of them
  bool any_ = false;
};

/// What becomes of a sum that cannot vouch for itself: what is summed from it is unfit for C as well.
__device__ inline float unfit_sum() { return __builtin_bit_cast(float, 0x7fc00000U); }

/// Nothing is lost.
struct NoLosses {
  template <class Load>
  __device__ void add(Load) {}
  __device__ void end(unsigned) {}
};

template <int columns, PackedMode mode, bool exist, bool keeps>
using LossesOf = Either<NoLosses, ColumnLosses<columns, mode, keeps>, exist>;

}  // namespace vostok
