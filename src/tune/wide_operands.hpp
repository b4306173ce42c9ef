// Operands of many decades whose product is that of ordinary ones: what one side divides by, the other multiplies by.
// A kernel that is right on random data alone gives itself away on them (src/README.md, "Accuracy").
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ops/stored_matrix.hpp"
#include "sparse/generate.hpp"

namespace vostok::tune {

/// The normwise error up to which a product of such operands is taken for right. Kernels that keep the contract stay
/// below a hundredth of it, those that lose small numbers far above.
inline constexpr double wide_tolerance = 0x1p-8;

/// Larger operands keep their scales: another copy of them for each candidate would take longer than its race.
inline constexpr std::size_t most_wide_elements = std::size_t{1} << 24;

/// A power of two for each of the products of a sum, over 40 binary decades: products stay as they are, bit by bit.
class WideFactors {
 public:
  explicit WideFactors(std::int64_t products) : factors_(static_cast<std::size_t>(products)) {
    sparse::Random random(1927);
    for (float& factor : factors_) factor = std::ldexp(1.0F, static_cast<int>(random.below(41)) - 20);
  }

  float operator()(std::int64_t product) const { return factors_[static_cast<std::size_t>(product)]; }

 private:
  std::vector<float> factors_;
};

/// Whether a value can take any of the factors and stay in f32's normal range.
inline bool takes_wide_factors(float value) {
  return value == 0 || (std::fabs(value) > 0x1p-100F && std::fabs(value) < 0x1p100F);
}

/// change(element, line, place) for each of a batch of matrices; gaps between lines are left out.
template <class Change>
void for_each_element(std::vector<float>& stored, const ops::StoredMatrix& matrix, std::int64_t batch, Change change) {
  for (std::int64_t product = 0; product < batch; ++product)
    for (std::int64_t line = 0; line < matrix.lines; ++line)
      for (std::int64_t place = 0; place < matrix.length; ++place)
        change(stored[static_cast<std::size_t>(product * matrix.stride + line * matrix.leading + place)], line, place);
}

}  // namespace vostok::tune
