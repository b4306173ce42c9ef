// What a plan would need, and what of it is missing, found without making the plan: for errors that name everything,
// and for `vostok doctor --problems`.
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
  std::vector<SurveyedKernel> packing =
      {};  ///< the kernels of Plan::pack, if values are packed once; planning does not need them
  /// Why derived forms of the topology (transpose, row order, packed strips, ...) cannot be made: the first missing
  /// kernel of each. On a device that only compiles, also the missing steps that would take the structure from device
  /// memory.
  std::vector<std::string> missing_forms = {};

  std::vector<std::string> missing_choices() const;  ///< descriptions of the queries whose choice is not tuned
  std::vector<std::string> missing_kernels()
      const;  ///< expressions, each once: first those of choices, then of packing

  bool plans_without_compiler() const;
  bool packs_without_compiler() const;
};

/// `make` calls make_plan for the problem with the planner it is given. Errors: those of planning, except
/// missing_kernel and missing_choice.
Survey survey(const std::shared_ptr<Session>& session, const std::function<void(const Planner&)>& make);

/// The error of a plan with missing parts, in one sentence that names all of them.
Error shortage(const Session& session, const Survey& survey, const Error& first);

}  // namespace vostok::plan
