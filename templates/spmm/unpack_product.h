// A warp's sums: strips of A unpacked into fragments, times fragments of B, k block after k block.
//
// A tensor core cuts what it adds instead of rounding it, at the last bits of the largest number. So sums are taken out
// of it every few k blocks into a second set that is added in f32; there the scales of B's columns, which belong to a k
// block, are taken back. And products with a low term, which next to a large sum would lose most, are added to sums of
// their own or before the others.
#pragma once

#include "abi/unpack_mma.h"
#include "parts/loads.h"
#include "parts/mma.h"
#include "spmm/column_losses.h"
#include "spmm/row_factors.h"
#include "spmm/unpack_dense_fragments.h"
#include "spmm/unpack_fragments.h"
#include "spmm/unpack_shared.h"

namespace vostok {

template <class F>
class WarpProduct {
  static constexpr auto config = F::config;
  static constexpr int words = terms(config);
  static constexpr bool scaled = packed_scales_rows(config.mode);
  static constexpr bool promotes = config.promotion_blocks > 0;
  static constexpr bool certifies = certifies_splits(F::traits, config);
  static constexpr bool low_apart = has_low_sums(config);
  static constexpr bool low_first = keeps_low_products_apart(config) && !low_apart;
  static constexpr int matrices = DenseFragments<F>::matrices;

 public:
  static constexpr int strips = config.warp_strips;
  static constexpr int octets = config.warp_columns / 8;
  using Losses = LossesOf<config.warp_columns, config.mode, certifies_splits(F::traits, config), false>;

  /// `row_scales` of the warp's first row; read where the mode has them. The launch before may have written them: they
  /// are not to be read early, as what is only read may be.
  __device__ WarpProduct(const float* row_scales, unsigned lane) {
    [[maybe_unused]] bool any = false;  // loses something
    if constexpr (scaled)
#pragma unroll
      for (int q = 0; q < strips; ++q)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const float inverse = load_own(row_scales + q * packed_strip_rows() + half * 8 + lane / 4);
          rows_[q][half] = row_factors(certifies ? packed_unmarked(inverse) : inverse);
          if constexpr (certifies) any |= row_loses(inverse);
        }
    if constexpr (certifies) losses_.expect(any);
  }

  /// Adds the product of one k block, whose strips are in shared memory.
  __device__ void add(const SharedAddress (&from)[strips], SharedAddress dense, const DenseFragments<F>& fragments,
                      unsigned lane) {
    visit_passes([&](auto pass) {
      StripReader<words, SharedAddress> readers[strips];
      open(readers, from, lane);
      visit_steps([&](auto step) {
        Fragments a[words];
        read(a, readers, [](auto& reader, auto& pairs) { reader.template read<decltype(step)::value>(pairs); });
        add_step<decltype(pass)::value>(a, dense, fragments, step.value);
      });
    });
  }

  /// The same of strips in global memory: rare, so that the steps stay a loop.
  __device__ void add(const unsigned char* const (&from)[strips], SharedAddress dense,
                      const DenseFragments<F>& fragments, unsigned lane) {
    visit_passes([&](auto pass) {
      StripReader<words, const unsigned char*> readers[strips];
      open(readers, from, lane);
#pragma unroll 1
      for (int step = 0; step < strip_steps(PackedGrain::pair); ++step) {
        Fragments a[words];
        read(a, readers, [](auto& reader, auto& pairs) { reader.next(pairs); });
        add_step<decltype(pass)::value>(a, dense, fragments, step);
      }
    });
  }

  /// After the k block that completes promotion_blocks, and after the last. `column_scales` are those of the warp's
  /// first column.
  __device__ void promote(const float* column_scales, unsigned lane) {
    losses_.add([&](unsigned first) { return *reinterpret_cast<const Vector<float, 2>*>(column_scales + first); });
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

  /// Once everything was promoted: makes NaN of sums that the split of B may have spoilt. Rarely is anything lost.
  __device__ void end([[maybe_unused]] const float* row_scales, unsigned k_blocks, [[maybe_unused]] unsigned lane) {
    losses_.end(k_blocks);
    if constexpr (certifies)
      if (losses_.any()) [[unlikely]]
        drop_unfit(row_scales, lane);
  }

  /// The accumulator's fragment (parts/mma.h) after end().
  __device__ void totals(float (&sums)[4], int q, int o) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] = total(q, o, i);
  }

 private:
  __device__ float total(int q, int o, int i) const {
    if constexpr (!promotes) return sums_.at[q][o][i];
    else if constexpr (scaled) return totals_.at[q][o][i] * rows_[q][i / 2].end;
    else return totals_.at[q][o][i];
  }

  /// No register held the rows' share until now: their load is waited for.
  __device__ void drop_unfit(const float* row_scales, unsigned lane) {
    static_assert(!certifies || promotes, "sums that are certified have their columns' scales");
#pragma unroll
    for (int q = 0; q < strips; ++q) {
      RowLoss rows[2];
#pragma unroll
      for (int half = 0; half < 2; ++half)
        rows[half] = row_loss(load_own(row_scales + q * packed_strip_rows() + half * 8 + lane / 4));
#pragma unroll
      for (int o = 0; o < octets; ++o) {
        float bars[4];
        losses_.find_bars(bars, o, rows);
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (!(fabsf(total(q, o, i)) >= bars[i])) totals_.at[q][o][i] = unfit_sum();
      }
    }
  }

  struct Sums {
    float at[strips][octets][4];
  };
  struct Nothing {};

  /// One term of the fragments of a k16 step, for every strip.
  struct Fragments {
    unsigned at[strips][strip_registers()];
  };

  template <int number>
  struct Constant {
    static constexpr int value = number;
  };

  /// visit(step) for each k16 step, whose number is a constant.
  template <class Visit>
  static __device__ void visit_steps(Visit visit) {
    visit(Constant<0>());
    visit(Constant<1>());
    visit(Constant<2>());
    visit(Constant<3>());
  }

  /// Which products of a k block are added at a time.
  enum Pass { all_products, low_products, high_products };

  /// visit(pass) for each time that a k block's strips are unpacked.
  template <class Visit>
  static __device__ void visit_passes(Visit visit) {
    if constexpr (low_first) {
      visit(Constant<low_products>());
      visit(Constant<high_products>());
    } else {
      visit(Constant<all_products>());
    }
  }

  template <class From>
  static __device__ void open(StripReader<words, From> (&readers)[strips], const From (&from)[strips], unsigned lane) {
#pragma unroll
    for (int q = 0; q < strips; ++q) readers[q] = StripReader<words, From>(from[q], lane);
  }

  /// The next step's, of every strip, which read_one(reader, pairs) reads.
  template <class Readers, class ReadOne>
  static __device__ void read(Fragments (&a)[words], Readers& readers, ReadOne read_one) {
#pragma unroll
    for (int q = 0; q < strips; ++q) {
      unsigned pairs[words][strip_registers()];
      read_one(readers[q], pairs);
#pragma unroll
      for (int term = 0; term < words; ++term)
#pragma unroll
        for (int i = 0; i < strip_registers(); ++i) a[term].at[q][i] = pairs[term][i];
    }
  }

  /// The products of a k16 step, one load of B's fragments after the other.
  template <int pass>
  __device__ void add_step(const Fragments (&a)[words], SharedAddress dense, const DenseFragments<F>& fragments,
                           int step) {
#pragma unroll
    for (int load = 0; load < DenseFragments<F>::loads; ++load) {
      unsigned high[matrices];
      fragments.load(high, dense, step, load);
      if constexpr (words == 2 && pass != high_products) {
        unsigned low[matrices];
        fragments.load(low, dense + dense_term_bytes(config), step, load);
        multiply(low_sums(), a[1], high, load);
        multiply(low_sums(), a[0], low, load);
      }
      if constexpr (pass != low_products) multiply(sums_, a[0], high, load);
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
  Either<Nothing, Sums, low_apart> low_sums_{};  ///< of products with a low term
  Either<Nothing, Sums, promotes> totals_{};
  RowFactors rows_[scaled ? strips : 1][2];
  Losses losses_;
};

}  // namespace vostok
