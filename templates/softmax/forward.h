// y = exp(scale * x) / sum of exp(scale * x), as one thread of a team computes its share of a row.
//
// A thread sums exponentials relative to the largest entry that it has met itself, and joins the sums of the team once.
// What is in registers then needs one more multiplication: 2^(own maximum - row's maximum) / row's sum.
#pragma once

#include "softmax/factor.h"
#include "softmax/share.h"
#include "softmax/team.h"

namespace vostok {

/// What an exponent may be taken relative to: the maximum, but for a maximum over nothing.
__device__ inline float softmax_origin(float maximum) { return maximum == -softmax_infinity() ? 0.0F : maximum; }

template <class F>
class SoftmaxForwardPass {
  using Share = TeamShare<F>;
  using Input = typename Share::Input;
  static constexpr int vector = Share::vector;
  static constexpr int held = Share::held;

 public:
  using Partial = SoftmaxPartial;
  static constexpr int chunk_entries = Share::chunk_entries;

  __device__ SoftmaxForwardPass(const SoftmaxOperands& operands, long long batch, const EntrySpan& span, unsigned rank)
      : exponent_(operands),
        share_(span, rank),
        input_(share_.input(operands.values, 0)),
        output_(share_.output(operands, batch)) {}

  static __device__ Partial nothing() { return {-softmax_infinity(), 0.0F}; }

  /// Takes the team's next entries, those from `start` on, into registers: z, and -infinity for what the span lacks.
  __device__ void load(int start) {
    typename Input::Packet packets[held];
#pragma unroll
    for (int h = 0; h < held; ++h) packets[h] = input_.load(share_.span, share_.position(start, h));
#pragma unroll
    for (int h = 0; h < held; ++h) {
#pragma unroll
      for (int i = 0; i < vector; ++i) value_[h][i] = exponent_.half_of(Input::to_float(packets[h], i));
      if (share_.span.template holds_all<vector>(share_.position(start, h))) continue;
#pragma unroll
      for (int i = 0; i < vector; ++i)
        if (!share_.span.holds(share_.position(start, h) + i)) value_[h][i] = -softmax_infinity();
    }
  }

  /// Adds what is in registers to the thread's sum, and leaves its exponentials there.
  __device__ void add() {
    float maximum = sum_.maximum;
#pragma unroll
    for (int h = 0; h < held; ++h)
#pragma unroll
      for (int i = 0; i < vector; ++i) maximum = fmaxf(maximum, value_[h][i]);
    const float so_far = relative(sum_, softmax_origin(maximum));
    sum_.maximum = maximum;
    exponentiate();
    float sum = 0.0F;
#pragma unroll
    for (int h = 0; h < held; ++h)
#pragma unroll
      for (int i = 0; i < vector; ++i) sum += value_[h][i];
    sum_.sum = so_far + sum;
  }

  /// Turns what `load` left in registers into exponentials relative to the thread's maximum.
  __device__ void exponentiate() {
    const float origin = softmax_origin(sum_.maximum);
#pragma unroll
    for (int h = 0; h < held; ++h)
#pragma unroll
      for (int i = 0; i < vector; ++i) value_[h][i] = exponent_.power(value_[h][i], origin);
  }

  __device__ Partial partial() const { return sum_; }

  template <int lanes>
  __device__ Partial across(const Partial& own) const {
    const float maximum = maximum_across<lanes>(own.maximum);
    return {maximum, sum_across<lanes>(relative(own, softmax_origin(maximum)))};
  }

  __device__ Partial join(const Partial& a, const Partial& b) const {
    const float maximum = fmaxf(a.maximum, b.maximum);
    const float origin = softmax_origin(maximum);
    return {maximum, relative(a, origin) + relative(b, origin)};
  }

  /// Takes the row's sum. A row of -infinity alone has none, and becomes zeros.
  __device__ void finish(const Partial& row) {
    if (row.sum == 0.0F) factor_ = 0.0F;
    else factor_ = exponent_.power(sum_.maximum, softmax_origin(row.maximum)) / row.sum;
  }

  /// The same for a thread that has summed nothing: it goes on relative to the row's maximum.
  __device__ void adopt(const Partial& row) {
    sum_ = row;
    finish(row);
  }

  __device__ float logarithm(const Partial& row) const { return exponent_.logarithm(row.maximum, row.sum); }

  /// Stores the exponentials in registers as probabilities.
  __device__ void store(int start) const {
#pragma unroll
    for (int h = 0; h < held; ++h) {
      float values[vector];
#pragma unroll
      for (int i = 0; i < vector; ++i) values[i] = value_[h][i] * factor_;
      output_.store(share_.span, share_.position(start, h), values);
    }
  }

  /// Stores the entries that `load` left in registers as probabilities, given the logarithm of the row's sum.
  __device__ void store_less_logarithm(int start, float logarithm) const {
    const float finite = logarithm == -softmax_infinity() ? 0.0F : logarithm;
#pragma unroll
    for (int h = 0; h < held; ++h) {
      float values[vector];
#pragma unroll
      for (int i = 0; i < vector; ++i) values[i] = exponent_.power_less_logarithm(value_[h][i], finite);
      output_.store(share_.span, share_.position(start, h), values);
    }
  }

 private:
  /// A partial's sum as multiples of 2^origin.
  __device__ float relative(const Partial& partial, float origin) const {
    return partial.sum * exponent_.power(partial.maximum, origin);
  }

  const ScaledExponent<F::traits.scale> exponent_;
  const Share share_;
  const Input input_;
  const typename Share::Output output_;
  Partial sum_ = nothing();
  float value_[held][vector];
  float factor_ = 0.0F;
};

}  // namespace vostok
