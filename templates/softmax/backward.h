// dL/dx = scale * y * (dL/dy - sum of y * dL/dy), as one thread of a team computes its share of a row.
#pragma once

#include "softmax/factor.h"
#include "softmax/share.h"
#include "softmax/team.h"

namespace vostok {

template <class F>
class SoftmaxBackwardPass {
  using Share = TeamShare<F>;
  using Input = typename Share::Input;
  static constexpr int vector = Share::vector;
  static constexpr int held = Share::held;

 public:
  using Partial = SoftmaxDotPartial;
  static constexpr int chunk_entries = Share::chunk_entries;

  __device__ SoftmaxBackwardPass(const SoftmaxOperands& operands, long long batch, const EntrySpan& span, unsigned rank)
      : scale_(scale_factor<F::traits.scale>(operands.scale, operands.device_scale)),
        share_(span, rank),
        probabilities_(
            share_.input(operands.probabilities, batch * (operands.probability_stride - operands.value_stride))),
        gradients_(share_.input(operands.values, 0)),
        output_(share_.output(operands, batch)) {}

  static __device__ Partial nothing() { return {0.0F}; }

  /// Takes the team's next entries, those from `start` on, into registers: zeros for what the span lacks.
  __device__ void load(int start) {
    typename Input::Packet probabilities[held];
    typename Input::Packet gradients[held];
#pragma unroll
    for (int h = 0; h < held; ++h) {
      probabilities[h] = probabilities_.load(share_.span, share_.position(start, h));
      gradients[h] = gradients_.load(share_.span, share_.position(start, h));
    }
#pragma unroll
    for (int h = 0; h < held; ++h)
#pragma unroll
      for (int i = 0; i < vector; ++i) {
        probability_[h][i] = Input::to_float(probabilities[h], i);
        gradient_[h][i] = Input::to_float(gradients[h], i);
      }
  }

  /// Adds what is in registers to the thread's sum.
  __device__ void add() {
    float sum = 0.0F;
#pragma unroll
    for (int h = 0; h < held; ++h)
#pragma unroll
      for (int i = 0; i < vector; ++i) sum += probability_[h][i] * gradient_[h][i];
    sum_.sum += sum;
  }

  /// What `load` left in registers is what `store` needs.
  __device__ void exponentiate() {}

  __device__ Partial partial() const { return sum_; }

  template <int lanes>
  __device__ Partial across(const Partial& own) const {
    return {sum_across<lanes>(own.sum)};
  }

  __device__ Partial join(const Partial& a, const Partial& b) const { return {a.sum + b.sum}; }

  /// Takes the row's sum.
  __device__ void finish(const Partial& row) { sum_ = row; }
  __device__ void adopt(const Partial& row) { sum_ = row; }

  __device__ void store(int start) const {
#pragma unroll
    for (int h = 0; h < held; ++h) {
      float values[vector];
#pragma unroll
      for (int i = 0; i < vector; ++i) values[i] = scale_ * probability_[h][i] * (gradient_[h][i] - sum_.sum);
      output_.store(share_.span, share_.position(start, h), values);
    }
  }

 private:
  const float scale_;
  const Share share_;
  const Input probabilities_;
  const Input gradients_;
  const typename Share::Output output_;
  Partial sum_ = nothing();
  float probability_[held][vector];
  float gradient_[held][vector];
};

}  // namespace vostok
