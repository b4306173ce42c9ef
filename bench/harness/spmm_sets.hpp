// The named lists of SpMM problems, each with what it is to reach.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <vostok/plan.hpp>

#include "bench/harness/problems.hpp"
#include "bench/harness/targets.hpp"

namespace vostok::bench {

/// What targets depend on.
struct SpmmRun {
  Dtype element = Dtype::f32;
  Math math = Math::accurate;
};

struct SpmmSet {
  std::string name = {};
  std::string what = {};
  std::vector<Problem> problems = {};  ///< empty: those of the problem list
  // What is taken where the command line does not say.
  Dtype element = Dtype::f32;
  ValueLifetime value_lifetime = ValueLifetime::persistent;
  Policy policy = Policy::warm;         ///< cold: the weights rotate through more copies than a cache holds
  std::vector<std::string> peers = {};  ///< empty: all
  std::function<std::vector<Target>(const SpmmRun&)> targets = {};
};

/// The first is taken where none is named.
const std::vector<SpmmSet>& spmm_sets();

/// Errors: invalid_argument naming those there are.
const SpmmSet& find_spmm_set(const std::string& name);

}  // namespace vostok::bench
