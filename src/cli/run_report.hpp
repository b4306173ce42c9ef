// The results of `vostok run`, as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <vostok/context.hpp>
#include <vostok/plan.hpp>

#include "cli/job.hpp"
#include "cli/measure.hpp"
#include "sparse/elements.hpp"
#include "tune/case.hpp"

namespace vostok::cli {

struct MatrixReport {
  std::string source = {};  ///< the file, or what was generated
  std::string note = {};    ///< what reading did to it, e.g. "pattern, symmetric, expanded"
  TopologyStatistics statistics = {};
  std::optional<sparse::ValueFacts> values = {};  ///< absent if the operation reads none, or the matrix has none
  Dtype value_type = Dtype::f32;                  ///< the type in which they are read
  std::vector<std::string> notes = {};            ///< anything that the user may not expect, e.g. of the random matrix
  double topology_ms = 0;
};

struct RunReport {
  std::string operation = {};
  std::optional<MatrixReport> matrix = {};  ///< absent for operations without one
  Subject subject = {};
  DeviceInfo device = {};
  Explanation explanation = {};               ///< an empty family: nothing to compute
  std::int64_t compiled = 0;                  ///< kernels compiled by this process
  double compile_ms = 0;                      ///< summed over the threads that compiled
  double plan_ms = 0;                         ///< compiling and tuning included
  double flops = 0;                           ///< useful operations, as subject.work defines them
  std::optional<PackingReport> packing = {};  ///< absent if values are passed at every call
  std::optional<Timing> timing = {};
  tune::Check check = {};

  bool verified() const { return check.wrong.empty(); }
  /// Whether an execute of the plan launches anything.
  bool launches() const;
  std::optional<double> gflops() const;
};

std::string report_text(const RunReport& report);
/// One object on one line; values that are not finite are null.
std::string report_json(const RunReport& report);

}  // namespace vostok::cli
