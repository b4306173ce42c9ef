// What a plan would take, and what of it is missing, found without making it: for errors that name everything, and for `vostok doctor --problems`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plan/planner.hpp"

namespace vostok::plan {

struct SurveyedKernel {
  std::string expression = {};
  bool stored = false;  ///< loaded already, or in a code layer
};

/// One choice that the plan would make.
struct SurveyedChoice {
  std::shared_ptr<const ops::Query> query = {};
  Decision decision = {};  ///< without kernels
  std::vector<SurveyedKernel> kernels = {};

  std::string words() const;  ///< of the query
  /// Tuned for exactly this problem on a device of this kind.
  bool tuned() const;
  /// As Explanation::is_slow.
  bool slow() const;
};

struct Survey {
  std::vector<SurveyedChoice> choices = {};
  std::vector<SurveyedKernel> packing = {};  ///< what Plan::pack runs, where values are packed once; planning does without
  /// Of the topology's derived forms (transpose, row order, packed strips, ...), why they cannot be made: the first kernel that each lacks; on a
  /// device that only compiles, of the steps that take the structure from device memory, too.
  std::vector<std::string> missing_forms = {};

  std::vector<std::string> missing_choices() const;  ///< the queries in words of those that are not tuned
  std::vector<std::string> missing_kernels() const;  ///< expressions, each once: those of choices, then of packing

  bool plans_without_compiler() const;
  bool packs_without_compiler() const;
};

/// `make` calls make_plan for the problem with the planner that it is given. Errors: those of planning, but not missing_kernel and missing_choice.
Survey survey(const std::shared_ptr<Session>& session, const std::function<void(const Planner&)>& make);

/// The error of a plan that lacks something, in one sentence that names all of it.
Error shortage(const Session& session, const Survey& survey, const Error& first);

}  // namespace vostok::plan
