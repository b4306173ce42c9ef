// What row_strips demands of its traits and config, a sentence each. The planner's rules refuse the same configs with reasons;
// these are for whoever writes an expression by hand.
#pragma once

#include "abi/row_strips.h"

namespace vostok {

template <class F>
struct RowStripsRules {
  static constexpr auto t = F::traits;
  static constexpr auto c = F::config;
  static constexpr bool power_of_two(int value) { return value > 0 && (value & (value - 1)) == 0; }
  static_assert(power_of_two(c.threads_per_strip) && c.threads_per_strip <= 32, "a strip's lanes lie in one warp: threads_per_strip is 1 to 32");
  static_assert(threads(c) > 0 && threads(c) % 32 == 0 && threads(c) <= 1024, "a block has whole warps and at most 1024 threads");
  static_assert(power_of_two(c.strip_entries) && c.strip_entries >= 4 && c.strip_entries <= 128, "strip_entries is a power of two from 4 to 128");
  static_assert(power_of_two(c.dense_vector) && c.dense_vector * size_of(t.element) <= 16, "dense_vector is a power of two of at most 16 bytes");
  static_assert(c.dense_vector * size_of(t.element) <= t.dense_alignment, "dense_vector is wider than the alignment of A and B");
  static_assert(power_of_two(c.step_vectors) && c.step_vectors * c.dense_vector <= 256,
                "a lane multiplies at most 256 elements of an entry per step");
  static_assert(power_of_two(c.loads_in_flight) && c.loads_in_flight <= c.strip_entries, "loads_in_flight divides strip_entries");
  static_assert(power_of_two(c.n_split), "n_split is a power of two");
  static_assert(c.min_blocks >= 1, "min_blocks is at least 1");
};

}  // namespace vostok
