// Random structures and values, the same for the same seed on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// Counter-based: the i-th number of a seed needs no predecessor. SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  double uniform();                     ///< [0, 1)
  double normal();                      ///< mean 0, deviation 1
  std::int64_t below(std::int64_t end);  ///< [0, end)

 private:
  std::uint64_t state_;
};

/// Every row has round(cols * (1 - sparsity)) nonzeros on average; columns uniform without repetition, ascending.
/// `row_variation`: wanted coefficient of variation of the row lengths (0: lengths as equal as possible).
Csr uniform(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed, double row_variation = 0);

/// Power-law row lengths with about `nonzeros` in all, longest rows scattered; a graph-like skew.
Csr power_law(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros, double exponent, std::uint64_t seed);

/// Standard normal values.
std::vector<float> normal_values(std::int64_t count, std::uint64_t seed);

}  // namespace vostok::sparse
