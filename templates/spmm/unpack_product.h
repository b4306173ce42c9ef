// A warp's sums: strips of A unpacked into fragments, times fragments of B, k block after k block.
//
// A tensor core cuts what it adds instead of rounding it, at the last bits of the largest number. So sums are taken out of it every
// few k blocks into a second set that is added in f32; there the scales of B's columns, which belong to a k block, are taken back.
// And products with a low term, which next to a large sum would lose most, are added to sums of their own or before the others.
#pragma once

#include "abi/unpack_mma.h"
#include "parts/ldmatrix.h"
#include "parts/loads.h"
#include "parts/mma.h"
#include "spmm/unpack_fragments.h"
#include "spmm/unpack_shared.h"

namespace vostok {

/// Where a lane's rows of B's fragments lie in a tile of 16-bit terms, for the columns of its warp.
template <class F>
class DenseFragments {
  static constexpr auto config = F::config;
  static constexpr bool along_k = stages_columns(F::traits, config);
  using Lines = TermLines<F>;

 public:
  /// Matrices of 8 k x 8 columns that one load takes: both halves of a k16 step, of two neighbouring octets of columns or of one.
  static constexpr int matrices = config.warp_columns >= 16 ? 4 : 2;
  static constexpr int loads = config.warp_columns / (4 * matrices);

  __device__ DenseFragments(unsigned column_warp, unsigned lane) {
    const unsigned first_column = column_warp * config.warp_columns;
    if constexpr (along_k) {
      const unsigned column = first_column + lane / 16 * 8 + lane % 8;
#pragma unroll
      for (int step = 0; step < strip_steps; ++step) offsets_[step] = Lines::place(column, 2 * step + lane / 8 % 2);
    } else {
#pragma unroll
      for (int i = 0; i < loads; ++i) offsets_[i] = Lines::place(lane % 16, first_column / 8 + 2 * i + lane / 16);
    }
  }

  /// The words b0, b1 of one octet of columns and, with four matrices, of the next.
  template <int step>
  __device__ void load(unsigned (&words)[matrices], SharedAddress term, int index) const {
    if constexpr (along_k) load_matrices<false>(words, term + (offsets_[step] + index * (16 * Lines::line_bytes)));
    else load_matrices<true>(words, term + (offsets_[index] + step * (16 * Lines::line_bytes)));
  }

 private:
  unsigned offsets_[along_k ? strip_steps : loads];
};

/// How a row's scale is taken back: one factor at each promotion, one at the end. The first keeps sums of small rows and large
/// columns from becoming infinite, the second the precision of the others: see row_factors.
struct RowFactors {
  float promotion;
  float end;
};

/// `inverse` is 1 / scale of the row. Sums in units of scale * A times B's true size are up to 2^34 times the column's
/// largest element in a k block, and may be summed over 2^10 of those: 2^-44 leaves them all finite.
__device__ inline RowFactors row_factors(float inverse) {
  constexpr float least = 0x1p-44F;
  if (inverse >= 1.0F) return {1.0F, inverse};
  if (inverse >= least) return {inverse, 1.0F};
  return {least, inverse * 0x1p44F};
}

template <class F>
class WarpProduct {
  static constexpr auto config = F::config;
  static constexpr int words = terms(config);
  static constexpr bool scaled = packed_scales_rows(config.mode);
  static constexpr bool promotes = config.promotion_blocks > 0;
  static constexpr bool low_apart = has_low_sums(config);
  static constexpr bool low_first = keeps_low_products_apart(config) && !low_apart;
  static constexpr int matrices = DenseFragments<F>::matrices;

 public:
  static constexpr int strips = config.warp_strips;
  static constexpr int octets = config.warp_columns / 8;

  /// `row_scales` of the warp's first row; read where the mode has them.
  __device__ WarpProduct(const float* row_scales, unsigned lane) {
    if constexpr (scaled)
#pragma unroll
      for (int q = 0; q < strips; ++q)
#pragma unroll
        for (int half = 0; half < 2; ++half) rows_[q][half] = row_factors(load_global(row_scales + q * packed_strip_rows + half * 8 + lane / 4));
  }

  /// Adds the product of one k block.
  template <class From>
  __device__ void add(const From (&from)[strips], SharedAddress dense, const DenseFragments<F>& fragments, unsigned lane) {
    StripReader<words, From> readers[strips];
#pragma unroll
    for (int q = 0; q < strips; ++q) readers[q] = StripReader<words, From>(from[q], lane);
    if constexpr (low_first) {
      Fragments high[strip_steps];
      add_low_products<0>(high[0], readers, dense, fragments);
      add_low_products<1>(high[1], readers, dense, fragments);
      add_low_products<2>(high[2], readers, dense, fragments);
      add_low_products<3>(high[3], readers, dense, fragments);
      add_high_products<0>(high[0], dense, fragments);
      add_high_products<1>(high[1], dense, fragments);
      add_high_products<2>(high[2], dense, fragments);
      add_high_products<3>(high[3], dense, fragments);
    } else {
      add_step<0>(readers, dense, fragments);
      add_step<1>(readers, dense, fragments);
      add_step<2>(readers, dense, fragments);
      add_step<3>(readers, dense, fragments);
    }
  }

  /// After the k block that completes promotion_blocks, and after the last. `column_scales` are those of the warp's first column.
  __device__ void promote(const float* column_scales, unsigned lane) {
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      Vector<float, 2> scales{};
      if constexpr (scaled) scales = *reinterpret_cast<const Vector<float, 2>*>(column_scales + 8 * o + lane % 4 * 2);
#pragma unroll
      for (int q = 0; q < strips; ++q)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& total = totals_.at[q][o][i];
          const float sum = take(q, o, i);
          if constexpr (scaled) total = fmaf(sum * rows_[q][i / 2].promotion, scales.at[i % 2], total);
          else total += sum;
        }
    }
  }

  /// Element i of the accumulator's fragment (parts/mma.h), once everything was promoted.
  __device__ float total(int q, int o, int i) const {
    if constexpr (!promotes) return sums_.at[q][o][i];
    else if constexpr (scaled) return totals_.at[q][o][i] * rows_[q][i / 2].end;
    else return totals_.at[q][o][i];
  }

 private:
  struct Sums {
    float at[strips][octets][4];
  };
  struct Nothing {};

  /// One term of the fragments of a k16 step, for every strip.
  struct Fragments {
    unsigned at[strips][strip_registers];
  };

  template <int step, class Readers>
  static __device__ void read(Fragments (&terms_of_a)[words], Readers& readers) {
#pragma unroll
    for (int q = 0; q < strips; ++q) {
      unsigned pairs[words][strip_registers];
      readers[q].template read<step>(pairs);
#pragma unroll
      for (int term = 0; term < words; ++term)
#pragma unroll
        for (int i = 0; i < strip_registers; ++i) terms_of_a[term].at[q][i] = pairs[term][i];
    }
  }

  /// All products of a k16 step, one load of B's fragments after the other.
  template <int step, class Readers>
  __device__ void add_step(Readers& readers, SharedAddress dense, const DenseFragments<F>& fragments) {
    Fragments a[words];
    read<step>(a, readers);
#pragma unroll
    for (int load = 0; load < DenseFragments<F>::loads; ++load) {
      unsigned b[words][matrices];
#pragma unroll
      for (int term = 0; term < words; ++term) fragments.template load<step>(b[term], dense + term * dense_term_bytes(config), load);
      if constexpr (words == 2) {
        multiply(low_sums(), a[1], b[0], load);
        multiply(low_sums(), a[0], b[1], load);
      }
      multiply(sums_, a[0], b[0], load);
    }
  }

  /// Those with a low term; keeps the high ones of A.
  template <int step, class Readers>
  __device__ void add_low_products(Fragments& high, Readers& readers, SharedAddress dense, const DenseFragments<F>& fragments) {
    Fragments a[words];
    read<step>(a, readers);
    high = a[0];
#pragma unroll
    for (int load = 0; load < DenseFragments<F>::loads; ++load) {
      unsigned b[words][matrices];
#pragma unroll
      for (int term = 0; term < words; ++term) fragments.template load<step>(b[term], dense + term * dense_term_bytes(config), load);
      multiply(sums_, a[1], b[0], load);
      multiply(sums_, a[0], b[1], load);
    }
  }

  template <int step>
  __device__ void add_high_products(const Fragments& high, SharedAddress dense, const DenseFragments<F>& fragments) {
#pragma unroll
    for (int load = 0; load < DenseFragments<F>::loads; ++load) {
      unsigned b[matrices];
      fragments.template load<step>(b, dense, load);
      multiply(sums_, high, b, load);
    }
  }

  /// Fragments of A times the words that one load took.
  static __device__ void multiply(Sums& sums, const Fragments& a, const unsigned (&b)[matrices], int load) {
#pragma unroll
    for (int q = 0; q < strips; ++q)
#pragma unroll
      for (int i = 0; i < matrices / 2; ++i) {
        const unsigned octet[2] = {b[2 * i], b[2 * i + 1]};
        float(&own)[4] = sums.at[q][load * (matrices / 2) + i];
        if constexpr (packed_is_f16(config.mode)) mma_f16(own, a.at[q], octet);
        else mma_bf16(own, a.at[q], octet);
      }
  }

  __device__ Sums& low_sums() {
    if constexpr (low_apart) return low_sums_;
    else return sums_;
  }

  /// An element of what a k block came to; it is zero afterwards.
  __device__ float take(int q, int o, int i) {
    float sum = sums_.at[q][o][i];
    sums_.at[q][o][i] = 0.0F;
    if constexpr (low_apart) {
      sum += low_sums_.at[q][o][i];
      low_sums_.at[q][o][i] = 0.0F;
    }
    return sum;
  }

  Sums sums_{};
  typename detail::Either<Nothing, Sums, low_apart>::Type low_sums_{};  ///< of products with a low term
  typename detail::Either<Nothing, Sums, promotes>::Type totals_{};
  RowFactors rows_[scaled ? strips : 1][2];
};

}  // namespace vostok
