// Charts of whole models' results, from the examples decoder and rigl.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/chart.hpp"
#include "bench/harness/json.hpp"

namespace vostok::bench {

struct NamedChart {
  std::string name = {};  ///< file name without its extension
  Chart chart = {};
};

/// The line below a title: the device, the day, `how`, and the commit if it is known.
std::string note_of(const Json& results, const std::string& how);

/// Speed and memory of a decoder against the share of zeros, or losses of a training against its steps; empty for other
/// results. `name`: of the result file. Unverified rows are omitted.
std::vector<NamedChart> model_charts(const std::string& name, const Json& results);

}  // namespace vostok::bench
