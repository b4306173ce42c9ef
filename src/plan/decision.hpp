// A decision: which family and config serve one problem, why, and the kernel that does.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <vostok/plan.hpp>

#include "ops/spmm/family.hpp"
#include "plan/kernels.hpp"

namespace vostok::plan {

struct Decision {
  const ops::SpmmFamily* family = nullptr;
  FieldMap config = {};
  Provenance provenance = Provenance::heuristic;
  std::string note = {};
  std::optional<double> median_us = {};
  std::optional<double> speedup_over_default = {};
  codegen::KernelRequest request = {};
  std::shared_ptr<const ReadyKernel> kernel = {};
};

}  // namespace vostok::plan
