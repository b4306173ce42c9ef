// Queries, keys and values of f32 attention into 16-bit terms (abi/attention_terms.h), in one launch. Some threads of a
// warp share a line, which they keep in registers.
#pragma once

#include "abi/attention_terms.h"
#include "abi/fixed.h"
#include "parts/dependent_launch.h"
#include "parts/loads.h"
#include "parts/split_number.h"
#include "parts/warp.h"

namespace vostok {

/// A thread's share of a line.
template <class F>
class SplitLine {
  static constexpr auto traits = F::traits;
  static constexpr int threads = line_threads(traits), piece = split_piece();
  static constexpr int pieces = (traits.longest + threads * piece - 1) / (threads * piece);
  static constexpr PackedMode mode = terms_mode(traits.terms);

 public:
  /// Every thread of the warp makes one; lines from `count` on are not there.
  __device__ SplitLine(const SplitLines& operand, long long line)
      : operand_(operand), line_(line), there_(line < operand.count), own_(threadIdx.x % threads) {
    if (!there_) return;
    const float* const from =
        operand.lines + line / operand.rows * operand.stride + line % operand.rows * operand.leading;
#pragma unroll
    for (int p = 0; p < pieces; ++p) load(values_[p], from, place(p));
  }

  __device__ void make() const {
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < pieces * piece; ++i) {
      const unsigned magnitude = finite_magnitude(values_[i / piece][i % piece]);
      largest = magnitude > largest ? magnitude : largest;
    }
    largest = warp_maximum<1, threads / 2>(largest);
    if (!there_) return;
    if (own_ == 0)
      operand_.to.exponents[line_] =
          traits.powers ? static_cast<int>(term_power_bits(largest)) : term_exponent(largest);
    const float scale = __builtin_bit_cast(float, packed_power_bits(packed_scale_exponent(largest)));
#pragma unroll
    for (int p = 0; p < pieces; ++p)
      if (place(p) < operand_.part) store(values_[p], scale, place(p));
  }

 private:
  __device__ int place(int p) const { return (p * threads + static_cast<int>(own_)) * piece; }

  __device__ void load(float (&values)[piece], const float* from, int first) const {
    if (first + piece <= operand_.size) {
      const auto whole = load_global(reinterpret_cast<const Vector<float, piece>*>(from + first));
#pragma unroll
      for (int i = 0; i < piece; ++i) values[i] = whole.at[i];
    } else {
#pragma unroll
      for (int i = 0; i < piece; ++i)
        if (first + i < operand_.size) values[i] = load_global(from + first + i);
    }
  }

  __device__ void store(const float (&values)[piece], float scale, int first) const {
    Vector<unsigned, piece / 2> terms[2];
#pragma unroll
    for (int i = 0; i < piece; i += 2) {
      const SplitPair pair = split_pair<mode>(scale * values[i], scale * values[i + 1]);
      terms[0].at[i / 2] = pair.high;
      terms[1].at[i / 2] = pair.low;
    }
    unsigned short* const to = operand_.to.terms + line_ * traits.terms * operand_.part + first;
#pragma unroll
    for (int t = 0; t < traits.terms; ++t)
      store_global<false>(reinterpret_cast<Vector<unsigned, piece / 2>*>(to + t * operand_.part), terms[t]);
  }

  const SplitLines& operand_;
  const long long line_;
  const bool there_;
  const unsigned own_;
  float values_[pieces][piece] = {};
};

/// Operands lie on the grid's y.
template <class F>
__global__ void __launch_bounds__(F::config.threads) split_terms(const __grid_constant__ SplitTermsArgs args) {
  constexpr int threads = line_threads(F::traits);
  follow_previous_launch();
  const long long line = static_cast<long long>(blockIdx.x) * (F::config.threads / threads) + threadIdx.x / threads;
  SplitLine<F>(args.operands[blockIdx.y], line).make();
}

}  // namespace vostok
