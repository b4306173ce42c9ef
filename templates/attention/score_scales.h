// The factors of a strip's scores and weights: the scale, and what lines of f32 were scaled by before they became
// 16-bit terms (abi/attention_terms.h). A warp has a strip of 16 queries.
//
// A score is its sum times powers of two of its query and its key. A weight is its probability times a power of two of
// its value, relative to that of the largest value so far, so that it has as many bits as f16 terms hold.
//
// A row is vouched for by the most that its scores may lack before caps and biases: a cap's slope is 1 at most, and a
// bias adds what f32 would add. Its largest exponent is that of what is then exponentiated.
#pragma once

#include "abi/fused_attention.h"
#include "attention/attention_work.h"
#include "attention/online_softmax.h"
#include "attention/soft_cap.h"
#include "attention/term_exponents.h"
#include "parts/finite.h"
#include "parts/loads.h"
#include "parts/shared_address.h"
#include "parts/split_number.h"
#include "parts/warp.h"

namespace vostok {

/// Of elements that have 16 bits.
template <class F, bool of_terms = (F::traits.terms > 0)>
class ScoreScales {
  static constexpr auto traits = F::traits;

 public:
  __device__ void begin(const FusedAttentionArgs& args, long long, long long) { rates_ = ScoreRates<F>(args); }

  template <int keys, int octets>
  __device__ void scale(float (&scores)[octets][4], SharedAddress) {
    rates_.cap(scores);
  }
  __device__ float rate(int) const { return rates_.exponent; }
  __device__ const ScoreRates<F>& rates() const { return rates_; }
  template <int keys, int octets>
  __device__ void weigh(float (&)[octets][4], float (&)[2], SharedAddress) {}
  template <int octets>
  __device__ void finish(float (&)[octets][4], const OnlineSoftmax&, int) const {}

 private:
  ScoreRates<F> rates_;
};

/// What scores of terms go through where caps or biases want them as large as they are; else nothing.
template <class F, bool sized = F::traits.capped || F::traits.biased>
struct SizedScores {};

template <class F>
struct SizedScores<F, true> {
  ScoreRates<F> rates;
};

/// Of terms.
template <class F>
class ScoreScales<F, true> {
  static constexpr auto traits = F::traits;
  static constexpr int weight_exponent = 15;  // f16 ends at 2^16
  /// Whether scores have the scale and their own size before caps and biases.
  static constexpr bool sized = traits.capped || traits.biased;

 public:
  /// Of the queries from `first_row` on.
  __device__ void begin(const FusedAttentionArgs& args, long long head, long long first_row) {
    sign_ = args.scale < 0.0F ? 0x80000000U : 0;
    if constexpr (sized) sized_.rates = ScoreRates<F>::of_scaled(args);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long row = first_row + threadIdx.x % 32 / 4 + 8 * half;
      const int exponent = row < args.rows ? load_global(args.terms.query.exponents + head * args.rows + row) : 0;
      if constexpr (sized) rates_[half] = finite_rate(args.scale) * power_of_two(exponent - term_exponent_bias());
      else rates_[half] = exponent_rate(args.scale) * power_of_two(exponent - term_exponent_bias());
    }
  }

  /// Of the keys of a step, whose exponents, and those of their values, lie at `exponents`.
  template <int keys, int octets>
  __device__ void scale(float (&scores)[octets][4], SharedAddress exponents) {
    key_largest_ = max(key_largest_, largest_of<keys>(exponents, 0));
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float factor = power_of_two(exponent_at(exponents, fragment_column(o, i)) - term_exponent_bias());
        if constexpr (sized) {  // by one number, as a score that overflows on its way would be capped, and not be seen
          scores[o][i] *= factor * rates_[0];
          scores[o][i + 2] *= factor * rates_[1];
        } else {
          const float signed_factor = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, factor) ^ sign_);
          scores[o][i] *= signed_factor;
          scores[o][i + 2] *= signed_factor;
        }
      }
    if constexpr (sized) sized_.rates.cap(scores);
  }
  __device__ float rate(int half) const {
    if constexpr (sized) return sized_.rates.exponent;
    else return rates_[half];
  }
  __device__ const ScoreRates<F>& rates() const { return sized_.rates; }

  /// Makes weights of a step's exponentials. `factors`: of the sums so far.
  template <int keys, int octets>
  __device__ void weigh(float (&scores)[octets][4], float (&factors)[2], SharedAddress values) {
    const int largest = largest_of<keys>(values, value_largest_);
    if (largest != value_largest_) {
#pragma unroll
      for (float& factor : factors) factor *= power_of_two(value_largest_ - largest);
      value_largest_ = largest;
    }
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const float factor = power_of_two(exponent_at(values, fragment_column(o, i)) - largest + weight_exponent);
        scores[o][i] *= factor;
        scores[o][i + 2] *= factor;
      }
  }

  /// Gives sums of `keys` keys their own scale. Those of a row that terms may have spoilt become NaN, so that the row
  /// is made again.
  template <int octets>
  __device__ void finish(float (&sums)[octets][4], const OnlineSoftmax& softmax, int keys) const {
    const int exponent = value_largest_ - term_exponent_bias() - weight_exponent;
    const float lower = power_of_two(exponent / 2), upper = power_of_two(exponent - exponent / 2);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float largest = largest_of_row(sums, half);
      const bool vouched =
          softmax.total(half) == 0.0F || (vouches_for_scores(softmax, half) && vouches_for_values(largest, keys));
#pragma unroll
      for (int o = 0; o < octets; ++o)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i)
          sums[o][i] = vouched ? sums[o][i] * lower * upper : __builtin_bit_cast(float, 0x7fffffffU);
    }
  }

 private:
  /// The largest exponent of a step, and what was the largest `so_far`. Every lane comes here.
  template <int keys>
  static __device__ int largest_of(SharedAddress exponents, int so_far) {
#pragma unroll
    for (int i = 0; i < keys; i += 32)
      if (keys >= 32 || threadIdx.x % 32 < keys)
        so_far = max(so_far, exponent_at(exponents, i + static_cast<int>(threadIdx.x % 32)));
    return warp_largest(so_far);
  }

  /// Whether scores are as good as f32's, whatever small elements lost.
  __device__ bool vouches_for_scores(const OnlineSoftmax& softmax, int half) const {
    constexpr float lost = 2.0F * traits.key_size;
    constexpr int exponent = packed_lost_exponent() + packed_largest_exponent();
    const float rate = sized ? fabsf(rates_[half]) * ScoreRates<F>::log2_e : rates_[half];
    const float most = lost * rate * power_of_two(key_largest_ - term_exponent_bias() + exponent);
    return most <= allowed_score_lack(softmax.origin(half));
  }

  /// Whether a row's largest sum is 2^16 times what terms of weights and values may lack.
  __device__ bool vouches_for_values(float largest, int keys) const {
    // A weight lacks 2^-25 and meets 2^14; a value lacks 2^-25 and meets 2^15.
    constexpr float of_key = 0x1p16F * (0x1p-11F + 0x1p-10F);
    return value_largest_ == 0 || largest >= of_key * static_cast<float>(keys);
  }

  /// Every lane comes here.
  template <int octets>
  static __device__ float largest_of_row(const float (&sums)[octets][4], int half) {
    float largest = 0.0F;
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int i = 2 * half; i < 2 * half + 2; ++i) largest = fmaxf(largest, fabsf(sums[o][i]));
    return line_largest(largest);
  }

  unsigned sign_;  ///< of the scale
  float rates_[2];
  [[no_unique_address]] SizedScores<F> sized_;  // else kernels without would have other instructions
  int key_largest_ = 0;
  int value_largest_ = 0;  ///< exponents of the scales so far
};

/// visit(part of the first operand, of the second) for the products of terms, small ones first, while sums are small.
template <int terms, class Visit>
__device__ inline void visit_products(Visit visit) {
  if constexpr (terms == 2) {
    visit(1, 0);
    visit(0, 1);
  }
  visit(0, 0);
}

/// Weights of 16 keys as the four registers of a, for each part of a line.
template <class F, int parts, int octets>
__device__ inline void pack_parts(unsigned (&packed)[parts][octets / 2][4], const float (&weights)[octets][4]) {
  if constexpr (parts == 1) {
    pack_weights<multiplied_type(F::traits)>(packed[0], weights);
  } else {
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const SplitPair pair = split_finite_pair<PackedMode::f16x3>(weights[o][2 * half], weights[o][2 * half + 1]);
        packed[0][o / 2][o % 2 * 2 + half] = pair.high;
        packed[1][o / 2][o % 2 * 2 + half] = pair.low;
      }
  }
}

}  // namespace vostok
