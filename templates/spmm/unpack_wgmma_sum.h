// The sums of the warps of unpack_wgmma that multiply, as wgmma's registers have them.
#pragma once

#include "parts/wgmma.h"
#include "parts/wgmma_sparse.h"
#include "spmm/column_losses.h"
#include "spmm/row_factors.h"
#include "spmm/unpack_wgmma_strips.h"

namespace vostok {

/// Sums set aside, in memory of the thread's own: few are the times that they are looked at.
template <class F>
struct SumsAside {
  volatile float at[F::traits.long_sums ? F::config.tile_columns / 2 : 1];
};

/// The sums of a warp's 16 rows, as wgmma's registers have them.
template <class F>
class WarpgroupSum {
  static constexpr auto config = F::config;
  static constexpr int count = config.tile_columns / 2;
  static constexpr bool in_place = promotes_once(config);
  static constexpr bool keeps = keeps_scales(config);  ///< columns' scales: one promotion, of the last k block's
  static constexpr bool promotes = config.promotion_blocks > 0 || keeps;
  static constexpr bool sets_aside = F::traits.long_sums;
  static constexpr bool scaled = packed_scales_rows(config.mode);
  static constexpr bool certifies = certifies_splits(F::traits, config);
  static constexpr bool along_k = lines_along_k(F::traits, config);
  static constexpr Dtype type = packed_is_f16(config.mode) ? Dtype::f16 : Dtype::bf16;
  static constexpr DenseLine line = along_k ? DenseLine::k : DenseLine::columns;

 public:
  // Saves 1.5 % on narrow tiles, whose warps wait for tensor cores; no gain on wide ones
  // (bench/notes/unpack_wgmma.md#where-n--32-waited).
  static constexpr bool defers_factors = scaled && config.tile_columns <= 32 && !config.overlap && !in_place;
  // The rows' scales are waited for beside the first products: from tile to tile nothing else hides their load.
  static constexpr bool takes_rows_late = scaled && !takes_fours(config) && config.persistent;
  /// `row_scales` of the warp's first row; read where the mode has them.
  __device__ WarpgroupSum(const float* row_scales, SumsAside<F>& aside) : aside_(aside) {
    if constexpr (scaled) {
#pragma unroll
      for (int upper = 0; upper < 2; ++upper) {
        const float* const place = row_scale_place(row_scales, upper);
        rows_[upper].promotion = takes_rows_late ? load_in_place(place) : load_global(place);
      }
      if constexpr (!takes_rows_late) take_rows();
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      sums_[i] = 0.0F;
      if constexpr (promotes && !in_place) totals_[i] = 0.0F;
      if constexpr (sets_aside) aside_.at[i] = 0.0F;
    }
  }

  /// Queues a k block's products, and those of a batch of what is left over if there is one beside it. `first`
  /// describes the tile's first column in the stage. Neither strip nor stage nor batch may change before finish().
  template <class Batches>
  __device__ void multiply(const UnpackedStrip<F>& strip, unsigned long long first, const Batches& batches) {
    // What a promotion left is overwritten.
    const bool accumulates = !promotes || keeps || (config.promotion_blocks > 1 && blocks_ > 0);
    begin_multiplications();
    // Small products first: what tensor cores cut off a sum is less while it is small.
    if constexpr (terms(config) == 2) {
      multiply_low<0>(strip, first, accumulates);
      multiply_low<1>(strip, first, accumulates);
      multiply_low<2>(strip, first, accumulates);
      multiply_low<3>(strip, first, accumulates);
    }
    multiply_high<0>(strip, first, accumulates);
    multiply_high<1>(strip, first, accumulates);
    multiply_high<2>(strip, first, accumulates);
    multiply_high<3>(strip, first, accumulates);
    commit_multiplications();
    if (batches.due()) multiply_batch(batches);
  }

  /// Waits for the products of every k block but the last that was queued.
  __device__ void finish_before_last() { wait_multiplications<1>(); }

  /// The products of another batch.
  template <class Batches>
  __device__ void multiply_further(const Batches& batches) {
    multiply_batch(batches);
    wait_multiplications();
  }

  /// Waits for the queued products. `scales`: of the tile's columns, in shared memory, the same for all k blocks of a
  /// promotion. `is_last`: there is no k block after this one.
  template <class Batches>
  __device__ void finish(unsigned scales, bool is_last, Batches& batches) {
    if constexpr (promotes) {
      const bool due = keeps ? is_last : ++blocks_ == config.promotion_blocks || is_last;
      if constexpr (takes_rows_late)
        if (!has_rows_) take_rows();
      if constexpr (defers_factors)
        if (due && !with_factors_) apply_factors_if_large(scales);
      if (due) losses_.add([&](unsigned column) { return load_shared_pair(scales + 4 * column); });
      wait_multiplications();
      batches.settle(*this);
      if (!due) return;
      blocks_ = 0;
      if (with_factors_) promote<true>(scales);
      else promote<false>(scales);
    } else {
      wait_multiplications();
      // Products of two k blocks are queued: the compiler would let them wait for one another.
      if constexpr (takes_whole(config)) settle_multiplications(sums_);
      batches.settle(*this);
    }
    if constexpr (sets_aside)
      if (++promotions_ == long_sum_blocks() / config.promotion_blocks) set_aside();
  }

  /// Before what is left over is added: the largest magnitude of B in it.
  __device__ void expect_left_over(float largest) {
    constexpr float large = 0x1p40F;
    if (!with_factors_ && __any_sync(0xffffffff, !(largest < large))) apply_factors();
  }

  /// Two sums of what is left over, in the lane's row and columns.
  __device__ void add_left_over(int upper, int octet, Vector<float, 2> pair) {
    float factor = 1.0F;
    if constexpr (scaled)
      factor = 1.0F / (with_factors_ ? rows_[upper].end : rows_[upper].end * rows_[upper].promotion);  // a power of two
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float& sum = total(4 * octet + 2 * upper + j);
      sum = fmaf(pair.at[j], factor, sum);
    }
  }

  /// Once, after end(): makes NaN of sums that cannot vouch for themselves. Rarely is anything lost.
  __device__ void vouch([[maybe_unused]] const float* row_scales, [[maybe_unused]] unsigned k_blocks) {
    if constexpr (certifies) {
      losses_.end(k_blocks);
      if (losses_.any()) [[unlikely]]
        drop_unfit(row_scales);
    }
  }

  /// Once, after the last finish().
  __device__ void end() {
    if constexpr (sets_aside)
#pragma unroll
      for (int i = 0; i < count; ++i) totals_[i] += aside_.at[i];
  }

  /// The fragment of columns 8 * octet and on, after vouch(): elements 2 * upper + j are columns 2 * (lane % 4) + j of
  /// row lane / 4 + 8 * upper.
  __device__ void fragment(float (&elements)[4], int octet) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (promotes && !in_place) elements[i] = totals_[4 * octet + i];
      else elements[i] = sums_[4 * octet + i];
      if constexpr (scaled) elements[i] *= with_factors_ ? rows_[i / 2].end : rows_[i / 2].promotion * rows_[i / 2].end;
    }
  }

 private:
  static constexpr int steps = strip_steps(config.grain);

  /// What follows from the rows' inverse scales, which are where their first factors will be.
  __device__ void take_rows() {
    const float inverses[2] = {rows_[0].promotion, rows_[1].promotion};
#pragma unroll
    for (int upper = 0; upper < 2; ++upper)
      rows_[upper] = row_factors(certifies ? packed_unmarked(inverses[upper]) : inverses[upper]);
    if constexpr (certifies) losses_.expect(row_loses(inverses[0]) || row_loses(inverses[1]));
    has_rows_ = true;
  }

  /// Of one of the lane's two rows.
  static __device__ const float* row_scale_place(const float* row_scales, int upper) {
    return row_scales + threadIdx.x % 32 / 4 + 8 * upper;
  }

  /// Where something is lost. No register held the rows' share until now: their load is waited for.
  __device__ void drop_unfit(const float* row_scales) {
    static_assert(!certifies || promotes, "sums that are certified have their columns' scales");
    RowLoss rows[2];
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) rows[upper] = row_loss(load_global(row_scale_place(row_scales, upper)));
#pragma unroll
    for (int octet = 0; octet < count / 4; ++octet) {
      float bars[4];
      float sums[4];
      losses_.find_bars(bars, octet, rows);
      fragment(sums, octet);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (!(fabsf(sums[i]) >= bars[i])) total(4 * octet + i) = unfit_sum();
    }
  }

  template <class Batches>
  __device__ void multiply_batch(const Batches& batches) {
    if constexpr (batches_left_over(config)) {
      unsigned a[4];
      batches.take(a);
      begin_multiplications();
      WarpgroupMma<config.tile_columns>::template multiply<type, DenseLine::columns>(sums_, a, batches.dense(), true);
      commit_multiplications();
    }
  }

  template <int step>
  __device__ void multiply_low(const UnpackedStrip<F>& strip, unsigned long long first, bool accumulates) {
    multiply_step<step>(strip, 0, moved_descriptor(first, dense_low_part(F::traits, config)), accumulates || step > 0);
    multiply_step<step>(strip, 1, first, true);
  }

  template <int step>
  __device__ void multiply_high(const UnpackedStrip<F>& strip, unsigned long long first, bool accumulates) {
    multiply_step<step>(strip, 0, first, accumulates || step > 0 || terms(config) == 2);
  }

  /// The products of a step of a term of A with the term of B whose first column in the stage `first` describes.
  /// Nothing past the last step.
  template <int step>
  __device__ void multiply_step(const UnpackedStrip<F>& strip, int term, unsigned long long first, bool accumulates) {
    if constexpr (step < steps) {
      constexpr int columns = packed_strip_columns() / steps;
      const unsigned long long dense =
          moved_descriptor(first, step * (along_k ? 2 * columns : columns * split_line_bytes()));
      if constexpr (takes_whole(config))
        WarpgroupMma<config.tile_columns>::template multiply_shared<type, DenseLine::k, line>(
            sums_, moved_descriptor(strip.descriptor, term * 8 * split_line_bytes() + step * 2 * columns), dense,
            accumulates);
      else if constexpr (takes_fours(config))
        SparseWarpgroupMma<config.tile_columns>::template multiply<type, line, step>(
            sums_, strip.at[step][term], strip.metadata, dense, accumulates);
      else
        WarpgroupMma<config.tile_columns>::template multiply<type, line>(sums_, strip.at[step][term], dense,
                                                                         accumulates);
    }
  }

  __device__ void set_aside() {
    promotions_ = 0;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      aside_.at[i] = aside_.at[i] + totals_[i];
      totals_[i] = 0.0F;
    }
  }

  /// The rows' first factors wait for the end until a column of the tile has a scale of 2 or more: smaller ones leave
  /// every total finite without. To be called before sums are waited for, which hides it.
  __device__ void apply_factors_if_large(unsigned scales) {
    const unsigned scale = load_word(SharedAddress{scales + threadIdx.x % config.tile_columns * 4});
    constexpr unsigned two_or_more = 0x40000000;
    if (__any_sync(0xffffffff, (scale & two_or_more) != 0)) apply_factors();
  }

  __device__ void apply_factors() {
    with_factors_ = true;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      totals_[i] *= rows_[i / 2 % 2].promotion;
      if constexpr (sets_aside) aside_.at[i] = aside_.at[i] * rows_[i / 2 % 2].promotion;
    }
  }

  template <bool with_factors>
  __device__ void promote(unsigned scales) {
    if constexpr (scaled) {
      const unsigned own = scales + threadIdx.x % 4 * 8;
#pragma unroll
      for (int group = 0; group < config.tile_columns / 8; ++group) {
        const Vector<float, 2> scale = load_shared_pair(own + group * 32);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float sum = sums_[4 * group + i];
          const float of_rows = with_factors ? sum * rows_[i / 2].promotion : sum;
          float& promoted = total(4 * group + i);
          promoted = in_place ? of_rows * scale.at[i % 2] : fmaf(of_rows, scale.at[i % 2], promoted);
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i)
        if constexpr (!in_place) total(i) += sums_[i];
    }
  }

  __device__ float& total(int i) {
    if constexpr (promotes && !in_place) return totals_[i];
    else return sums_[i];
  }

  float sums_[count];
  float totals_[promotes && !in_place ? count : 1];
  RowFactors rows_[2] = {};
  bool has_rows_ = !takes_rows_late;
  bool with_factors_ = scaled && !defers_factors;  ///< totals have the rows' first factors
  int blocks_ = 0;                                 ///< multiplied since the last promotion
  int promotions_ = 0;                             ///< since sums were set aside
  LossesOf<config.tile_columns, config.mode, certifies, keeps> losses_;
  SumsAside<F>& aside_;
};

}  // namespace vostok
