// A warpgroup's 64 rows of a tile's dense product of f32 operands, in terms of TF32: three products, hi lo + lo hi +
// hi hi. High terms are the elements as they lie, of which tensor cores leave out the last 13 bits. A comes to
// registers, where its low terms are made; those of B others have made (sddmm/wgmma_sample_splitter.h).
//
// Low terms are rounded, and low times low is left out: 1.6e-7 of the result's norm together, and 4.2e-7 with what
// tensor cores cut of sums (bench/notes/sddmm.md#by-tf32-terms). Products with a low term come first, while sums are
// small.
#pragma once

#include "abi/split_dense.h"
#include "abi/wgmma_sample.h"
#include "parts/ldmatrix.h"
#include "parts/opaque.h"
#include "parts/tf32_terms.h"
#include "parts/warp.h"
#include "parts/wgmma.h"
#include "sddmm/warpgroup_sums.h"

namespace vostok {

template <class F>
class Tf32Product : public WarpgroupSums<tile_columns(F::config), true> {
  using Sums = WarpgroupSums<tile_columns(F::config), true>;
  using Sums::sums_;
  static constexpr auto config = F::config;
  static constexpr int step_bytes = 32;  ///< of the eight elements of a step
  static constexpr int steps = split_line_bytes() / step_bytes;

 public:
  __device__ void clear() {
    Sums::clear();
    magnitudes_[0] = magnitudes_[1] = 0.0F;
  }

  /// Takes the warp's 16 rows of A of one half of an n block, whose first is at `lhs`, and splits them.
  template <int half>
  __device__ void take(unsigned lhs) {
    const unsigned lane = threadIdx.x % 32;
    const unsigned row = lhs + lane % 16 * split_line_bytes();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      unsigned(&high)[4] = kept_[half].high[step];
      load_matrices<false>(high, SharedAddress{row + ((2 * step + lane / 16) ^ (lane % 8)) * 16});
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (sums_magnitudes(F::traits, config))
          magnitudes_[i % 2] += fabsf(__builtin_bit_cast(float, high[i]));
        kept_[half].low[step][i] = low_tf32_term(high[i]);
        make_opaque(kept_[half].low[step][i]);  // here, and not between the fence and the multiplications
      }
    }
  }

  /// The sum of the magnitudes of what was taken of a row: of the lane's fourth in each half of the warp's rows. All
  /// lanes take part.
  __device__ float row_magnitudes(int half) const { return warp_sum<1, 2>(magnitudes_[half]); }

  /// Queues the products of one half of an n block; the first half's begin sums anew. Shared addresses of the tile's
  /// first column.
  template <int half>
  __device__ void multiply(unsigned rhs, unsigned low_rhs) {
    const Kept& a = kept_[half];
    const unsigned long long high = dense_descriptor(rhs, 0), low = dense_descriptor(low_rhs, 0);
    begin_multiplications();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      Mma::multiply_tf32(sums_, a.low[step], moved_descriptor(high, step * step_bytes), half > 0 || step > 0);
      Mma::multiply_tf32(sums_, a.high[step], moved_descriptor(low, step * step_bytes), true);
    }
#pragma unroll
    for (int step = 0; step < steps; ++step)
      Mma::multiply_tf32(sums_, a.high[step], moved_descriptor(high, step * step_bytes), true);
    commit_multiplications();
  }

  /// After the products of both halves are done.
  __device__ void promote() {
    settle_multiplications(sums_);
    Sums::promote();
  }

 private:
  using Mma = WarpgroupMma<tile_columns(config)>;
  struct Kept {
    unsigned high[steps][4];
    unsigned low[steps][4];
  };

  Kept kept_[block_stages(config)];
  float magnitudes_[2];  ///< of the lane's elements of two rows
};

}  // namespace vostok
