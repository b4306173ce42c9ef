// The factors of a strip's scores, gradients and weights in the kernels of attention's gradient where lines of f32 were
// scaled before they became 16-bit terms (abi/attention_terms.h); and whether terms have lost what counts.
//
// Scores, and gradients of probabilities, get their own size by powers of two of both their lines. What they lack then
// is compared with what f32 rounds, of the largest of a line: scores with 2^-17, or 2^-22 of the logarithm of the sum
// of exponentials; gradients with 2^-20 of their magnitudes before they cancel, each by its probability and its key.
#pragma once

#include "abi/fused_backward.h"
#include "attention/online_softmax.h"
#include "attention/term_exponents.h"
#include "attention/weight_scale.h"
#include "parts/loads.h"

namespace vostok {

/// Where the exponents of a part of a tile lie: of lines of key_size, and of value_size.
struct TileExponents {
  SharedAddress keys;
  SharedAddress values;

  /// Powers of two of the two columns that a lane has of an octet.
  struct Columns {
    float keys[2];
    float values[2];
  };
  __device__ Columns columns(int octet) const {
    Columns factors;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int line = fragment_column(octet, c);
      factors.keys[c] = power_of_two(exponent_at(keys, line) - term_exponent_bias());
      factors.values[c] = power_of_two(exponent_at(values, line) - term_exponent_bias());
    }
    return factors;
  }
};

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
  /// Of a sum of so many products, what each of both elements may lack of its scaled line.
  static constexpr int lost_exponent = term_lost_exponent() + term_largest_exponent() + 1;

 public:
  /// Of own lines from `first_row` on.
  __device__ GradientScales(const FusedBackwardArgs& args, long long head, long long first_row)
      : sign_(args.walk.scale < 0.0F && !traits.capped && !traits.biased ? 0x80000000U : 0) {
    const FusedAttentionArgs& walk = args.walk;
    const float rate = exponent_rate(walk.scale);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long row = first_row + threadIdx.x % 32 / 4 + 8 * half;
      const bool exists = row < walk.rows;
      key_exponents_[half] =
          exists ? load_exponent(walk.terms.query, head * walk.rows + row) : -2 * term_exponent_bias();
      value_exponents_[half] =
          exists ? load_exponent(args.own_value_terms, head * walk.rows + row) : -2 * term_exponent_bias();
      scores_lack_[half] = rate * traits.key_size * any_power_of_two(key_exponents_[half] + lost_exponent);
    }
  }

  /// Gives the sums of products of two lines their own size: scores, and gradients of probabilities.
  template <int octets>
  __device__ void size(float (&scores)[octets][4], float (&gradients)[octets][4], const TileExponents& tile) const {
    size_some(scores, tile.keys, key_exponents_, sign_);
    size_some(gradients, tile.values, value_exponents_, 0);
  }

  /// An element's score lacks so much, and `allowed` of it is no more than f32 rounds.
  __device__ void note_score(int half, float key_factor, float allowed) {
    score_lack_[half] = fmaxf(score_lack_[half], fmaf(scores_lack_[half], key_factor, -allowed));
  }
  /// The gradient of an element's score, by its probability and what cancels in the other factor.
  __device__ void note_gradient(int half, float key_factor, float value_factor, float probability, float magnitude) {
    const float weight = probability * key_factor, value_weight = probability * value_factor;
    gradient_lack_[half] = fmaxf(gradient_lack_[half], value_weight * key_factor);
    largest_[half] = fmaxf(largest_[half], weight * magnitude);
    if constexpr (part == BackwardPart::by_key) largest_value_[half] = fmaxf(largest_value_[half], value_weight);
  }
  /// Of a query's sum of gradients, which `factors` and exponentials are relative to.
  __device__ void note_row(int half, float factor, float lacks, float magnitudes) {
    gradient_lack_[half] = fmaf(gradient_lack_[half], factor, lacks);
    largest_[half] = fmaf(largest_[half], factor, magnitudes);
  }

  __device__ WeightScale& keys() { return keys_; }
  __device__ WeightScale& values() { return values_; }
  __device__ const WeightScale& keys() const { return keys_; }
  __device__ const WeightScale& values() const { return values_; }

  /// Whether terms lost nothing of a line that counts. `logarithm`: of an own query. Every lane comes here.
  __device__ bool vouches(const FusedBackwardArgs& args, int half, float logarithm) const {
    constexpr bool rows = part == BackwardPart::rows;
    const float of_products = traits.value_size * any_power_of_two(value_exponents_[half] + lost_exponent) *
                              (traits.dropped ? args.walk.kept_scale : 1.0F);
    // Before anything is asked: lanes exchange what they have.
    const float score_lack = most_of_line(score_lack_[half]);
    const float gradient_lack = rows ? warp_sum<1, 2>(gradient_lack_[half]) : most_of_line(gradient_lack_[half]);
    const float largest = rows ? warp_sum<1, 2>(largest_[half]) : most_of_line(largest_[half]);
    const float largest_value = most_of_line(largest_value_[half]);
    return score_lack <= 0x1p-17F + 0x1p-22F * fabsf(logarithm) && of_products * gradient_lack <= 0x1p-20F * largest &&
           (rows || keys_.vouches(half, largest)) &&
           (part != BackwardPart::by_key || values_.vouches(half, largest_value));
  }

 private:
  static __device__ int load_exponent(const TermLines& lines, long long line) {
    return load_global(lines.exponents + line) - term_exponent_bias();
  }

  template <int octets>
  static __device__ void size_some(float (&sums)[octets][4], SharedAddress exponents, const int (&own)[2],
                                   unsigned sign) {
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int other = exponent_at(exponents, fragment_column(o, c)) - term_exponent_bias();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const unsigned factor = __builtin_bit_cast(unsigned, any_power_of_two(own[half] + other)) ^ sign;
          sums[o][2 * half + c] *= __builtin_bit_cast(float, factor);
        }
      }
  }

  static __device__ float most_of_line(float value) {
    value = fmaxf(value, shuffle_xor(value, 1));
    return fmaxf(value, shuffle_xor(value, 2));
  }

  const unsigned sign_;  ///< of the scale, where no factor of scores has it
  int key_exponents_[2];
  int value_exponents_[2];
  float scores_lack_[2];  ///< by the power of two of a key
  float score_lack_[2] = {0.0F, 0.0F};
  float gradient_lack_[2] = {0.0F, 0.0F};
  float largest_[2] = {0.0F, 0.0F};
  float largest_value_[2] = {0.0F, 0.0F};
  WeightScale keys_;
  WeightScale values_;
};

}  // namespace vostok
