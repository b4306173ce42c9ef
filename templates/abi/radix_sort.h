// A stable radix sort of (key, position) by 8-bit digits, lowest first: what host and kernel share.
#pragma once

#include "abi/fields.h"
#include "abi/topology.h"

namespace vostok {

consteval int sort_digit_bits() { return 8; }
consteval int sort_digits() { return 1 << sort_digit_bits(); }

/// Keys of one thread per step, and of the block that it belongs to.
consteval int sort_items() { return 8; }
consteval int sort_tile() { return 256 * sort_items(); }

/// Dynamic shared memory of the kernels that have some.
consteval int sort_count_shared_bytes() { return 4 * sort_digits(); }
consteval int sort_scatter_shared_bytes() {
  return block_sum_shared_bytes() + 4 * sort_digits() * (1 + sort_digits() / 32);
}

struct RadixSortTraits {
  IntegerType key = IntegerType::i32;  ///< of the keys that are read, never negative; those written have 32 bits
  bool first = true;                   ///< positions are 0, 1, 2, ... and not read
  bool last = true;                    ///< keys are no longer needed and not written
};

struct RadixSortArgs {
  const void* keys;
  const int* positions;
  unsigned* sorted_keys;
  int* sorted_positions;
  unsigned* counts;  ///< [digit][block]; after the second kernel: of that digit in the blocks before
  unsigned* totals;  ///< [digit]
  unsigned count;
  unsigned chunk;  ///< keys of a block: a multiple of the tile
  unsigned blocks;
  int shift;  ///< of the digit
};

template <FieldsOf<RadixSortTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("key", traits.key);
  visit("first", traits.first);
  visit("last", traits.last);
}

}  // namespace vostok
