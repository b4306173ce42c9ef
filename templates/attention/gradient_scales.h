// The factors of a strip's scores, gradients and weights in the kernels of attention's gradient where lines of f32 were
// scaled before they became 16-bit terms (abi/attention_terms.h); and whether terms have lost what counts.
//
// Scores, and gradients of probabilities, get their own size by powers of two of both their lines. What they lack then
// is compared with what f32 rounds, of the largest of a line: scores by allowed_score_lack, gradients with 2^-20 of
// what cancels in them, each by its probability and its key.
#pragma once

#include "abi/fused_backward.h"
#include "attention/online_softmax.h"
#include "attention/soft_cap.h"
#include "attention/term_exponents.h"
#include "attention/weight_scale.h"
#include "parts/loads.h"

namespace vostok {

/// Of elements that have 16 bits.
template <class F, bool of_terms = (F::traits.terms > 0)>
class GradientScales {
 public:
  __device__ GradientScales(const FusedBackwardArgs&, long long, long long) {}
};

template <class F>
class GradientScales<F, true> {
  static constexpr auto traits = F::traits;
  static constexpr BackwardPart part = traits.part;
  /// Of a product of two scaled elements, what both may lack.
  static constexpr float product_lacks =
      2.0F / static_cast<float>(1 << -(packed_lost_exponent() + packed_largest_exponent()));

 public:
  /// Of own lines from `first_row` on.
  __device__ GradientScales(const FusedBackwardArgs& args, long long head, long long first_row)
      : sign_(ScoreRates<F>::flips_scores(args.walk) ? -1.0F : 1.0F) {
    const FusedAttentionArgs& walk = args.walk;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long row = first_row + threadIdx.x % 32 / 4 + 8 * half;
      if (row >= walk.rows) continue;
      own_keys_[half] = load_power(walk.terms.query, head * walk.rows + row);
      own_values_[half] = load_power(args.own_value_terms, head * walk.rows + row);
    }
  }

  /// Gives the sums of products of two lines their own size: scores.
  template <int octets>
  __device__ void size_scores(float (&scores)[octets][4], const TilePowers& tile) const {
    const float own[2] = {sign_ * own_keys_[0], sign_ * own_keys_[1]};
    size(scores, tile.keys, own);
  }
  /// Gradients of probabilities.
  template <int octets>
  __device__ void size_gradients(float (&gradients)[octets][4], const TilePowers& tile) const {
    size(gradients, tile.values, own_values_);
  }

  /// What scores of a step's columns lack, for the line that lacks most: a lane looks at every 32nd column. By key,
  /// as a share of what is allowed; `numbers` are those of the columns.
  template <int columns>
  __device__ void note_scores(const TilePowers& tile, SharedAddress numbers) {
#pragma unroll
    for (int first = 0; first < columns; first += 32) {
      const int column = first + static_cast<int>(threadIdx.x % (columns < 32 ? columns : 32));
      float lacks = power_at(tile.keys, column);
      if constexpr (part == BackwardPart::by_key)
        lacks = __fdividef(lacks, allowed_score_lack(__builtin_bit_cast(float, load_word(numbers + 8 * column))));
      score_lacks_ = fmaxf(score_lacks_, lacks);
    }
  }
  /// A probability, what the gradient of its score lacks by it, and what cancels there: by query without the factor
  /// that all of a query's have.
  __device__ void note_gradient(int half, float probability, float lacks, float cancels) {
    gradient_lacks_[half] = fmaxf(gradient_lacks_[half], probability * lacks);
    cancelled_[half] = fmaxf(cancelled_[half], probability * cancels);
  }
  /// Of a query's sum of gradients, which `factor` and exponentials are relative to.
  __device__ void note_row(int half, float factor, float lacks, float magnitudes) {
    gradient_lacks_[half] = fmaf(gradient_lacks_[half], factor, lacks);
    cancelled_[half] = fmaf(cancelled_[half], factor, magnitudes);
  }

  __device__ WeightScale& keys() { return keys_; }
  __device__ WeightScale& values() { return values_; }
  __device__ const WeightScale& keys() const { return keys_; }
  __device__ const WeightScale& values() const { return values_; }

  /// Whether terms lost nothing of a line that counts. `numbers`: of an own query. Every lane comes here.
  __device__ bool vouches(const FusedBackwardArgs& args, int half, float logarithm, float inner) const {
    const float score_lacks = __builtin_bit_cast(float, warp_largest(__builtin_bit_cast(int, score_lacks_))) *
                              exponent_rate(args.walk.scale) * traits.key_size * product_lacks * own_keys_[half];
    const float of_products =
        traits.value_size * product_lacks * own_values_[half] * (traits.dropped ? args.walk.kept_scale : 1.0F);
    if constexpr (part == BackwardPart::rows) {
      const float lacks = of_products * warp_sum<1, 2>(gradient_lacks_[half]);
      const float cancelled = warp_sum<1, 2>(cancelled_[half]);  // before anything is asked: lanes exchange it
      return score_lacks <= allowed_score_lack(logarithm) && lacks <= 0x1p-20F * cancelled;
    } else {
      const float lacks = of_products * line_largest(gradient_lacks_[half]);
      const float factor = part == BackwardPart::by_query ? fabsf(inner) : 1.0F;
      const float cancelled = fmaxf(line_largest(cancelled_[half]) * factor, keys_.least_largest(half));
      return score_lacks <= (part == BackwardPart::by_query ? allowed_score_lack(logarithm) : 1.0F) &&
             lacks <= 0x1p-20F * cancelled;
    }
  }

 private:
  template <int octets>
  static __device__ void size(float (&sums)[octets][4], SharedAddress powers, const float (&own)[2]) {
#pragma unroll
    for (int o = 0; o < octets; ++o) {
      const ColumnPowers columns = column_powers(powers, o);
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[o][i] = sums[o][i] * columns.at[i % 2] * own[i / 2];
    }
  }

  /// Without the factors of powers, of own lines and of others, so that only own lines are multiplied by them.
  static __device__ float load_power(const TermLines& lines, long long line) {
    constexpr float both = 1.0F / static_cast<float>(1LL << 2 * term_power_shift());
    return __builtin_bit_cast(float, load_global(lines.exponents + line)) * both;
  }

  const float sign_;  ///< of the scale, where no factor of scores has it
  float own_keys_[2] = {0.0F, 0.0F};
  float own_values_[2] = {0.0F, 0.0F};
  float score_lacks_ = 0.0F;
  float gradient_lacks_[2] = {0.0F, 0.0F};
  float cancelled_[2] = {0.0F, 0.0F};
  WeightScale keys_;
  WeightScale values_;
};

}  // namespace vostok
