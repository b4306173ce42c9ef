// Charts of what whole models reach: results of the examples decoder and rigl.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/chart.hpp"
#include "bench/harness/json.hpp"

namespace vostok::bench {

struct NamedChart {
  std::string name = {};  ///< of its file, without the end
  Chart chart = {};
};

/// What is drawn below a title: the device, the day, `how`, and the commit where it is known.
std::string note_of(const Json& results, const std::string& how);

/// Speed and memory of a decoder against the share of zeros, or losses of a training against its steps; empty for results of others. `name`: of the
/// result file. Rows that were not verified are left out.
std::vector<NamedChart> model_charts(const std::string& name, const Json& results);

}  // namespace vostok::bench
