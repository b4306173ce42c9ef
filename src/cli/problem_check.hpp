// `vostok doctor --problems`: what planning each problem of a file would need, and what of that is missing,
// before anything is planned.
#pragma once

#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "cli/problem_file.hpp"
#include "plan/survey.hpp"

namespace vostok::cli {

struct CheckedProblem {
  const ProblemLine* line = nullptr;
  std::string error = {};  ///< why it cannot be planned in any case; empty: it can
  plan::Survey survey = {};

  bool plans_without_compiler() const;  ///< with Options::compile = never
  bool packs_without_compiler() const;  ///< whether its plan packs new values so, if it packs any
  bool plans_from_cache_only() const;   ///< with Options::cache_only
};

struct ProblemCheck {
  DeviceInfo device = {};
  std::vector<CheckedProblem> problems = {};

  /// Whether every problem can be planned, and new values packed, without a compiler.
  bool complete() const;
};

/// `device` and `cache`: as for --device and --cache. Compiles and measures nothing. Errors: those of opening the
/// context.
ProblemCheck check_problems(const std::vector<ProblemLine>& lines, const std::string& device, const std::string& cache);

std::string check_text(const ProblemCheck& check);
std::string check_json(const ProblemCheck& check);

}  // namespace vostok::cli
