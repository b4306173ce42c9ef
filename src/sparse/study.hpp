// The paper's section II: what deep-learning matrices look like.
#pragma once

#include <string>
#include <vector>

#include <vostok/topology.hpp>

namespace vostok::sparse {

struct StudyEntry {
  std::string file = {};
  TopologyStatistics statistics = {};
};

struct Spread {
  double mean = 0;
  double median = 0;
  double smallest = 0;
  double largest = 0;
};
/// All zero where there are no values.
Spread spread_of(std::vector<double> values);

/// A table, a line per file, then the set's mean, median and range of sparsity, mean row length and CoV.
std::string study_text(const std::vector<StudyEntry>& entries);
/// The same as CSV with a header line.
std::string study_csv(const std::vector<StudyEntry>& entries);
/// Three histograms side by side (sparsity, mean row length, CoV), a stand-alone SVG. An axis whose values span more
/// than a factor of 50 is logarithmic; values of 0 are then left out and counted under the axis.
std::string study_svg(const std::vector<StudyEntry>& entries);

}  // namespace vostok::sparse
