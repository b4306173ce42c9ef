// Histograms: values into bins with round edges, on a linear or a logarithmic axis.
#pragma once

#include <cstdint>
#include <vector>

namespace vostok::sparse {

struct Histogram {
  bool logarithmic = false;
  std::vector<double> edges;         ///< ascending, one more than counts
  std::vector<std::int64_t> counts;  ///< of values in [edge, next edge), the last bin with its end
  std::vector<double> ticks;         ///< round numbers within the edges
  std::int64_t left_out = 0;         ///< zeros, which a logarithmic axis has no place for
};

/// Of values that are finite and not negative; `most` caps the axis (1 for shares).
Histogram histogram_of(const std::vector<double>& values, double most);

/// 1, 2 or 5 times a power of ten: the largest with at least `steps` of them in `range`, about.
double round_step(double range, int steps);

}  // namespace vostok::sparse
