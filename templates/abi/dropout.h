// Which probabilities of attention are dropped: a function of seed, offset, head, row and column alone, so that passes
// and families agree wherever they meet an element. What hosts and kernels share.
//
// A tile's keys lie anywhere, and the gradients by keys walk columns where others walk rows, so that no neighbours
// share a generator's block. A row and a column cost one instruction each, and an element of them six: their product,
// folded, is not linear in either, and one more factor spreads what the folding left in low bits.
#pragma once

#include "abi/random_keys.h"

namespace vostok {

/// Of one head.
struct DropoutKey {
  unsigned row;     ///< the highest bit is set, here and in `column`: neither factor is 0
  unsigned column;  ///< rows and columns are below 2^31
  unsigned number;
};

constexpr DropoutKey dropout_key(unsigned long long seed, unsigned long long offset, unsigned long long head) {
  const unsigned long long factors = mix_bits(mix_bits(mix_bits(seed) + offset) + head);
  return {.row = static_cast<unsigned>(factors) | 0x80000000U,
          .column = static_cast<unsigned>(factors >> 32) | 0x80000000U,
          .number = static_cast<unsigned>(mix_bits(factors))};
}

/// Uniform on 32 bits.
constexpr unsigned dropout_number(const DropoutKey& key, unsigned row, unsigned column) {
  const unsigned long long product = static_cast<unsigned long long>(row ^ key.row) * (column ^ key.column);
  return (static_cast<unsigned>(product) ^ static_cast<unsigned>(product >> 32) ^ key.number) * 0x9e3779b1U;
}

/// An element is dropped where its number is below this: `rate`, between 0 and 1, in steps of 2^-32.
constexpr unsigned dropped_below(float rate) {
  return static_cast<unsigned>(static_cast<double>(rate) * 4294967296.0 + 0.5);
}

}  // namespace vostok
