// A thread's share of a team's entries, and where the operands of its row lie.
#pragma once

#include "softmax/span.h"

namespace vostok {

/// A team takes chunk_entries at a time, of which each thread has `held` vectors, a team's width apart.
template <class F>
class TeamShare {
 public:
  static constexpr int vector = F::config.vector;
  static constexpr int held = F::config.held_vectors;
  static constexpr int chunk_entries = team_threads(F::config) * vector * held;
  using Input = SpanMemory<F::traits.element, vector>;
  using Output = SpanMemory<F::traits.output, vector>;

  __device__ TeamShare(const EntrySpan& entries, unsigned rank) : span(entries), rank_(static_cast<int>(rank)) {}

  /// An input whose batch elements lie `offset` elements further on than a span's base says.
  __device__ Input input(const void* operand, long long offset) const {
    using Stored = typename Element<F::traits.element>::Storage;
    return Input(const_cast<Stored*>(static_cast<const Stored*>(operand)) + offset + span.base);
  }
  __device__ Output output(const SoftmaxOperands& operands, long long batch) const {
    using Stored = typename Element<F::traits.output>::Storage;
    return Output(static_cast<Stored*>(operands.output) + batch * (operands.output_stride - operands.value_stride) +
                  span.base);
  }

  /// Of the thread's vector `h` in the chunk at `start`.
  __device__ int position(int start, int h) const { return start + (h * team_threads(F::config) + rank_) * vector; }

  const EntrySpan span;

 private:
  const int rank_;
};

}  // namespace vostok
