// Sums and sorts on the device. Everything is queued; nothing waits. Deterministic.
#pragma once

#include <cstdint>

#include "ops/topology/queue.hpp"

namespace vostok::ops {

/// offsets[i] = counts[0] + ... + counts[i - 1], for i in [0, count]: one more than there are counts. `wide`: offsets
/// are int64, else int32, and the total must fit.
void exclusive_scan(const Queue& queue, const std::uint32_t* counts, std::int64_t count, void* offsets, bool wide);

/// Keys, int32 or uint16, none negative, of which the low `key_bits` bits are used.
struct SortKeys {
  const void* keys = nullptr;
  IntegerType type = IntegerType::i32;
  std::int64_t count = 0;  ///< at most 2^31 - 1
  int key_bits = 31;
};

/// sorted_positions = the positions 0 .. count - 1 by ascending key; equal keys keep their order.
void sort_positions(const Queue& queue, const SortKeys& keys, std::int32_t* sorted_positions);

/// Bits needed for the numbers 0 .. largest: at least one.
int bits_for(std::int64_t largest);

}  // namespace vostok::ops
