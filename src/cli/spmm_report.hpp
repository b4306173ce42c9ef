// What `vostok run spmm` found out, as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/context.hpp>
#include <vostok/plan.hpp>
#include <vostok/problem.hpp>

#include "cli/measure.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::cli {

struct SpmmReport {
  std::string matrix = {};  ///< the file, or what was generated
  std::string note = {};    ///< what reading did to it, e.g. "pattern, symmetric, expanded"
  TopologyStatistics statistics = {};
  Spmm problem = {};
  float scale = 1;
  DeviceInfo device = {};
  Explanation explanation = {};  ///< an empty family: nothing to compute
  std::int64_t compiled = 0;     ///< kernels compiled by this process
  double compile_ms = 0;         ///< summed over the threads that compiled
  double topology_ms = 0;
  double plan_ms = 0;  ///< compiling and tuning included
  double flops = 0;    ///< useful: 2 * nonzeros * n
  std::optional<Timing> timing = {};
  tune::Check check = {};

  bool verified() const { return check.wrong.empty(); }
  std::optional<double> gflops() const;
};

std::string report_text(const SpmmReport& report);
/// One object on one line; values that are not finite are null.
std::string report_json(const SpmmReport& report);

}  // namespace vostok::cli
