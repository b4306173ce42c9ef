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
  double uniform();  ///< [0, 1)
  double normal();   ///< mean 0, deviation 1, within +-6 (a sum of twelve uniforms: exact, so alike everywhere)
  std::int64_t below(std::int64_t end);  ///< [0, end)

 private:
  std::uint64_t state_;
};

/// round(rows * cols * (1 - sparsity)) nonzeros; columns uniform without repetition, ascending. `row_variation`: wanted
/// coefficient of variation of the row lengths, which are gamma-like (0: as equal as possible; more than the shape
/// admits, sqrt(sparsity / (1 - sparsity)) at most: the most that is found). Errors: invalid_argument.
Csr uniform(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed, double row_variation = 0);

/// `nonzeros` in all; the i-th longest row has a length proportional to i^-exponent, at most cols; rows scattered: a
/// graph-like skew. Columns as above. Errors: invalid_argument.
Csr power_law(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros, double exponent, std::uint64_t seed);

/// Standard normal values.
std::vector<float> normal_values(std::int64_t count, std::uint64_t seed);

}  // namespace vostok::sparse
