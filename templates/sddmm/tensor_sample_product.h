// A warp's part of a tile's dense product: n block after n block, from octets of rows in shared memory.
//
// A tensor core cuts what it adds instead of rounding it, at the last bits of the largest number. So sums are taken out
// of it every few steps of 16 n into a second set that is added in f32. Products with a low term, which lose most next
// to large sums, need short sums, or come before the others of an n block: then a block's sums may be as long as it is.
#pragma once

#include "abi/tensor_sample.h"
#include "parts/ldmatrix.h"
#include "parts/mma.h"

namespace vostok {

/// Where a lane's rows of fragments lie in octets: of A, matrices (octet, half of the step's n) in the order 00 10 01
/// 11; of B 00 01 10 11.
template <class F>
struct FragmentPlaces {
  unsigned lhs;
  unsigned rhs;

  static __device__ FragmentPlaces of_lane(unsigned lane) {
    constexpr unsigned octet_bytes = sample_octet_bytes(F::config.mode);
    const unsigned line = lane % 8;
    const auto place = [&](unsigned octet, unsigned half) {
      return octet * octet_bytes + line * 128 + 16 * (half ^ line);
    };
    return {place(lane / 8 % 2, lane / 16), place(lane / 16, lane / 8 % 2)};
  }

  /// Of another step: chunks come in pairs.
  static __device__ unsigned at_step(unsigned place, int step) { return place ^ (32U * step); }
};

/// A's fragments of one step, for each term and strip of 16 rows.
template <class F>
struct LhsFragments {
  unsigned at[sample_terms(F::config.mode)][F::config.warp_rows / 16][4];
};

template <class F>
class TileProduct {
  static constexpr auto config = F::config;
  static constexpr PackedMode mode = config.mode;
  static constexpr int terms = sample_terms(mode);
  static constexpr int strips = config.warp_rows / 16;
  static constexpr int pairs = config.warp_columns / 16;  ///< of octets of columns: what one load takes
  static constexpr int octet_bytes = sample_octet_bytes(mode);
  static constexpr bool promotes = vostok::promotes(F::traits, config);
  static constexpr bool keeps = config.kept_blocks == 1;

 public:
  explicit __device__ TileProduct(unsigned lane) : places_(FragmentPlaces<F>::of_lane(lane)) {}

  __device__ void clear() {
    sums_ = {};
    totals_ = {};
  }

  /// Takes A's fragments of a whole n block into registers. `lhs`: the warp's first row in it.
  __device__ void keep(SharedAddress lhs) {
    if constexpr (keeps) {
#pragma unroll
      for (int step = 0; step < steps_of_block(); ++step) load(kept_.at[step], lhs, step);
    }
  }

  /// Adds the products of an n block that has so many steps. `rhs`: the warp's first column in it; `lhs` is not looked
  /// at where A is kept in registers.
  __device__ void add(SharedAddress lhs, SharedAddress rhs, unsigned steps) {
    if (steps >= steps_of_block()) add_block<true>(lhs, rhs, steps);
    else add_block<false>(lhs, rhs, steps);
  }

  /// Element i of the accumulator's fragment (parts/mma.h) of a strip and an octet of columns.
  __device__ float element(int q, int o, int i) const {
    if constexpr (promotes) return totals_.at[q][o][i];
    else return sums_.at[q][o][i];
  }

  static constexpr int strip_count = strips;
  static constexpr int octet_count = 2 * pairs;

 private:
  struct Sums {
    float at[strips][2 * pairs][4];
  };
  struct Kept {
    LhsFragments<F> at[steps_of_block()];
  };

  __device__ void promote() {
    if constexpr (promotes)
#pragma unroll
      for (int q = 0; q < strips; ++q)
#pragma unroll
        for (int o = 0; o < 2 * pairs; ++o)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            totals_.at[q][o][i] += sums_.at[q][o][i];
            sums_.at[q][o][i] = 0.0F;
          }
  }

  template <bool whole>
  __device__ void add_block(SharedAddress lhs, SharedAddress rhs, unsigned steps) {
    if constexpr (config.low_first) {
      each_step<whole>(steps, [&](int step) { add_step<true, false>(lhs, rhs, step); });
      each_step<whole>(steps, [&](int step) { add_step<false, true>(lhs, rhs, step); });
      promote();
    } else {
      each_step<whole>(steps, [&](int step) {
        add_step<terms == 2, true>(lhs, rhs, step);
        if constexpr (config.promotion_steps > 0)
          if ((step + 1) % config.promotion_steps == 0) promote();
      });
      if constexpr (!whole) promote();
    }
  }

  template <bool whole, class Visit>
  static __device__ void each_step(unsigned steps, Visit visit) {
#pragma unroll
    for (int step = 0; step < steps_of_block(); ++step)
      if (whole || static_cast<unsigned>(step) < steps) visit(step);
  }

  /// The products of one step that have a low term, those that have none, or both.
  template <bool low, bool high>
  __device__ void add_step(SharedAddress lhs, SharedAddress rhs, int step) {
    LhsFragments<F> a;
    if constexpr (keeps) a = kept_.at[step];
    else load(a, lhs, step);
    const SharedAddress from = rhs + FragmentPlaces<F>::at_step(places_.rhs, step);
#pragma unroll
    for (int pair = 0; pair < pairs; ++pair) {
      unsigned b[terms][4];
#pragma unroll
      for (int term = 0; term < (low ? terms : 1); ++term)
        load_matrices<false>(b[term], from + (pair * 2 * octet_bytes + term * sample_term_bytes()));
      if constexpr (low) {
        multiply(a.at[terms - 1], b[0], pair);
        multiply(a.at[0], b[terms - 1], pair);
      }
      if constexpr (high) multiply(a.at[0], b[0], pair);
    }
  }

  __device__ void load(LhsFragments<F>& a, SharedAddress lhs, int step) const {
    const SharedAddress from = lhs + FragmentPlaces<F>::at_step(places_.lhs, step);
#pragma unroll
    for (int term = 0; term < terms; ++term)
#pragma unroll
      for (int q = 0; q < strips; ++q)
        load_matrices<false>(a.at[term][q], from + (q * 2 * octet_bytes + term * sample_term_bytes()));
  }

  __device__ void multiply(const unsigned (&a)[strips][4], const unsigned (&b)[4], int pair) {
#pragma unroll
    for (int q = 0; q < strips; ++q)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned octet[2] = {b[2 * i], b[2 * i + 1]};
        float(&sums)[4] = sums_.at[q][2 * pair + i];
        if constexpr (packed_is_f16(mode)) mma_f16(sums, a[q], octet);
        else mma_bf16(sums, a[q], octet);
      }
  }

  FragmentPlaces<F> places_;
  Sums sums_{};
  Sums totals_{};  ///< where it promotes
  Kept kept_;      ///< where it keeps A
};

}  // namespace vostok
