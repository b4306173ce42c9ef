// What the softmax kernels demand of their traits and config, a sentence each. The planner's rules refuse the same configs
// with reasons; these are for whoever writes an expression by hand.
#pragma once

#include "abi/softmax.h"

namespace vostok {

template <class F>
struct SoftmaxRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static constexpr int team = team_threads(c);
  static_assert(!t.backward || t.statistics == RowStatistics::none, "the backward pass neither reads nor writes statistics");
  static_assert(team > 0 && (team & (team - 1)) == 0 && team <= 1024, "a row's or strip's threads are a power of two of at most 1024");
  static_assert(threads(c) % 32 == 0 && threads(c) >= 32 && threads(c) <= 1024, "a block has whole warps and at most 1024 threads");
  static_assert(c.vector > 0 && (c.vector & (c.vector - 1)) == 0 && c.vector * size_of(t.element) <= 16,
                "vector is a power of two of at most 16 bytes");
  static_assert(c.vector <= t.widest_vector, "vector is wider than alignment and strides allow");
  static_assert(c.held_vectors >= 1, "a thread holds at least one vector");
};

}  // namespace vostok
