// A task as text, so that another process can measure for it, and the way back.
#pragma once

#include <string>

#include "plan/planner.hpp"

namespace vostok::plan {

/// What of a task its candidates' launches and operands depend on, but for the topology.
struct TaskText {
  std::string operation = {};
  FieldMap problem = {};  ///< every field of the resolved problem
  ops::SizeRange n = {};
  Policy policy = Policy::warm;
};

TaskText text_of(const ops::Query& query);

/// The task on this planner's device; its operands are made with `seed`. `topology` is empty for operations without one. Errors:
/// invalid_argument (an operation or a value that this version does not know).
Task rebuilt_task(const Planner& planner, const TaskText& text, const Topology& topology, std::uint64_t seed);

/// The same for one operation, instantiated beside its Operation. `operation` lives as long as the program.
template <class Problem>
Task rebuild(const Planner& planner, std::string_view operation, const TaskText& text, const Topology& topology, std::uint64_t seed);

}  // namespace vostok::plan
