// Kernels that move every element once, by vectors through a grid of one row: what their configs have in common.
#pragma once

#include "abi/rules.h"

namespace vostok {

/// The rules of {vector, vectors_per_thread, block_threads}.
template <class Traits, class Config>
constexpr void stream_rules(RuleCheck& rule, const Traits& t, const Config& c) {
  rule("vector is a power of two of at most 16 bytes", [&] { return is_vector(c.vector, t.element); });
  rule("vector is no wider than sizes and alignment allow", [&] { return c.vector <= t.widest_vector; });
  rule("a thread takes 1 to 16 vectors", [&] { return within(c.vectors_per_thread, 1, 16); });
  rule("a block has 1 to 32 whole warps", [&] { return is_block(c.block_threads); });
}

}  // namespace vostok
