#include "sparse/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace vostok::sparse {
namespace {

constexpr double logarithmic_from = 50;  // largest over smallest value
constexpr int linear_bins = 15;
constexpr int fewest_bins = 8;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
};

Range positive_range(const std::vector<double>& values) {
  Range range;
  for (const double value : values) {
    if (value <= 0) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range;
}

/// Bins from one power of two to the next, or half of that where few are needed.
void set_logarithmic_axis(Histogram& histogram, const Range& range) {
  const int per_octave = range.high / range.low < 1024 ? 2 : 1;
  const int first = static_cast<int>(std::floor(std::log2(range.low)));
  const int last = static_cast<int>(std::floor(std::log2(range.high))) + 1;
  for (int i = first * per_octave; i <= last * per_octave; ++i)
    histogram.edges.push_back(std::exp2(static_cast<double>(i) / per_octave));
  const int tick_step = (last - first + 5) / 6;
  for (int i = first; i <= last; i += tick_step) histogram.ticks.push_back(std::ldexp(1.0, i));
}

/// Bins of a round width; a few equal values get empty bins beside them, as far as the axis goes.
void set_linear_axis(Histogram& histogram, const std::vector<double>& values, double most) {
  const auto [smallest, largest] = std::minmax_element(values.begin(), values.end());
  const double step = round_step(std::max(*largest - *smallest, *largest / 4), linear_bins);
  const double end = std::ceil(most / step);
  double first = std::floor(*smallest / step);
  double last = std::max(std::min(std::floor(*largest / step) + 1, end), first + 1);
  while (last - first < fewest_bins && (first > 0 || last < end)) {
    if (first > 0) --first;
    if (last < end) ++last;
  }
  for (double i = first; i <= last; ++i) histogram.edges.push_back(i * step);
  const double tick_step = round_step((last - first) * step, 4);
  const double first_tick = std::ceil(first * step / tick_step - 1e-9) + 0.0;  // not -0
  for (double i = first_tick; i * tick_step <= (last + 1e-9) * step; ++i) histogram.ticks.push_back(i * tick_step);
}

}  // namespace

double round_step(double range, int steps) {
  if (range <= 0) return 1;
  const double rough = range / steps;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

Histogram histogram_of(const std::vector<double>& values, double most) {
  Histogram histogram;
  if (values.empty()) return histogram;
  const Range range = positive_range(values);
  histogram.logarithmic = range.high / range.low > logarithmic_from && most > range.high;
  if (histogram.logarithmic) {
    set_logarithmic_axis(histogram, range);
  } else {
    set_linear_axis(histogram, values, most);
  }
  histogram.counts.resize(histogram.edges.size() - 1);
  for (const double value : values) {
    if (histogram.logarithmic && value <= 0) {
      ++histogram.left_out;
      continue;
    }
    // Edges are multiples of a decimal step: a value that is meant to lie on one may be a rounding error below it.
    const auto after = std::upper_bound(histogram.edges.begin(), histogram.edges.end(), value * (1 + 1e-12));
    const auto bin = std::clamp<std::int64_t>(after - histogram.edges.begin() - 1, 0,
                                              static_cast<std::int64_t>(histogram.counts.size()) - 1);
    ++histogram.counts[bin];
  }
  return histogram;
}

}  // namespace vostok::sparse
