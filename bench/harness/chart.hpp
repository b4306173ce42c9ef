// A chart as SVG text: points and lines over two labelled axes, in colours that are readable on light and on dark
// pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vostok::bench {

struct Series {
  std::string name = {};
  std::vector<std::pair<double, double>> points = {};  ///< in the order in which a line joins them
  bool joined = true;                                  ///< false: only points
};

struct Axis {
  std::string label = {};  ///< with its unit: "time (us)"
  bool logarithmic = false;
};

struct Chart {
  std::string title = {};
  std::string note = {};  ///< below the title: on what, when
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
};

/// Ticks at round numbers that cover [least, most] or, if logarithmic, at 1, 2 and 5 times powers of ten
/// (then both must be positive).
std::vector<double> ticks(double least, double most, bool logarithmic);

/// Points that are not finite, or not positive on a logarithmic axis, are omitted. Errors: invalid_argument (nothing is
/// left).
std::string to_svg(const Chart& chart);

}  // namespace vostok::bench
