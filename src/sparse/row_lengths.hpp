// How many nonzeros each row of a generated matrix has.
#pragma once

#include <cstdint>
#include <vector>

#include "sparse/generate.hpp"

namespace vostok::sparse {

/// `total` spread over the rows as equally as possible.
std::vector<std::int64_t> equal_lengths(std::int64_t rows, std::int64_t total);

/// Gamma-like lengths in [0, cols] with the wanted coefficient of variation (as near as the shape admits), `total` in
/// all.
std::vector<std::int64_t> varied_lengths(std::int64_t rows, std::int64_t cols, std::int64_t total, double variation,
                                         Random& random);

/// Lengths in [0, cols] proportional to rank^-exponent, `total` in all, in random order.
std::vector<std::int64_t> power_law_lengths(std::int64_t rows, std::int64_t cols, std::int64_t total, double exponent,
                                            Random& random);

}  // namespace vostok::sparse
