// A decision: which family and config serve one problem, why, and the kernels that do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <vostok/plan.hpp>

#include "ops/family.hpp"
#include "plan/kernels.hpp"

namespace vostok::plan {

/// Whether a choice was tuned on a device of this model for exactly this problem, or for it without its
/// epilogue (ProblemKey::plain).
bool is_tuned(Provenance provenance);

struct Decision {
  const ops::Family* family = nullptr;
  ops::Config config = {};
  Provenance provenance = Provenance::heuristic;
  std::string note = {};
  std::optional<double> median_us = {};
  std::optional<double> speedup_over_default = {};
  std::vector<std::string> expressions = {};                     ///< one for each launch
  std::vector<std::shared_ptr<const ReadyKernel>> kernels = {};  ///< one for each launch

  std::string code_digest() const;  ///< one digest for all kernels
};

/// Predicted or, if it was measured on this problem, measured microseconds of a decision.
double expected_us(const ops::Query& query, const Decision& decision);

/// Microseconds that choices are expected to take: what medians say of those that were measured, and cost models of the
/// others.
struct Expected {
  double measured_us = 0;
  double predicted_us = 0;

  double us() const { return measured_us + predicted_us; }
  Expected& operator+=(const Expected& other) {
    measured_us += other.measured_us;
    predicted_us += other.predicted_us;
    return *this;
  }
};
Expected expected(const ops::Query& query, const Decision& decision);

/// The kernels of a config's launches, loaded. Calls `compiling` before each compile. Errors: as Kernels::get.
std::vector<std::shared_ptr<const ReadyKernel>> ready_kernels(Kernels& kernels,
                                                              const std::vector<ops::Launch>& launches,
                                                              const std::function<void()>& compiling = {});

/// One digest for the code of several kernels; for a single kernel, its own.
std::string code_digest_of(const std::vector<std::shared_ptr<const ReadyKernel>>& kernels);

}  // namespace vostok::plan
