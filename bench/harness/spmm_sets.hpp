// The named sets of SpMM problems, each with its targets.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <vostok/plan.hpp>

#include "bench/harness/problems.hpp"
#include "bench/harness/targets.hpp"

namespace vostok::bench {

/// The facts that targets depend on.
struct SpmmRun {
  Dtype element = Dtype::f32;
  Math math = Math::accurate;
};

struct SpmmSet {
  std::string name = {};
  std::string what = {};
  std::vector<Problem> problems = {};  ///< empty: those of the problem list
  // Defaults of the command line's options.
  Dtype element = Dtype::f32;
  ValueLifetime value_lifetime = ValueLifetime::persistent;
  Policy policy = Policy::warm;         ///< cold: the weights rotate through more copies than a cache holds
  std::vector<std::string> peers = {};  ///< empty: all
  std::function<std::vector<Target>(const SpmmRun&)> targets = {};
};

/// All sets; the first is the default.
const std::vector<SpmmSet>& spmm_sets();

/// The set of this name. Errors: invalid_argument naming all sets.
const SpmmSet& find_spmm_set(const std::string& name);

}  // namespace vostok::bench
