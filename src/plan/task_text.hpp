// A task as text, which lets another process measure for it, and the way back.
#pragma once

#include <optional>
#include <string>

#include "plan/planner.hpp"

namespace vostok::plan {

/// Everything in a task that its candidates' launches and operands depend on, except the topology.
struct TaskText {
  std::string operation = {};
  FieldMap problem = {};  ///< every field of the resolved problem
  ops::SizeRange n = {};
  Policy policy = Policy::warm;
  std::string family = {};  ///< the only one that may serve it; empty: any
  std::optional<std::string> packed_format =
      {};  ///< the only format in which values may be read, if its plan has several choices
  std::optional<TopologyStatistics> statistics =
      {};  ///< statistics as kernels see them, if they are not the topology's
};

/// Omits what narrows the choice of candidates (family, packed format).
TaskText text_of(const ops::Query& query);

/// The task text that a key allows. Rows are assumed sorted, without duplicates, and not empty. Nothing if
/// this version cannot read it.
std::optional<TaskText> text_of(const ProblemKey& key);

/// The task on this planner's device; its operands are made with `seed`. `topology` is empty for operations without
/// one. Errors: invalid_argument (an operation or a value that this version does not know).
Task rebuilt_task(const Planner& planner, const TaskText& text, const Topology& topology, std::uint64_t seed);

/// As rebuilt_task, for one operation; instantiated beside its Operation. `operation` must live as long as the program.
template <class Problem>
Task rebuild(const Planner& planner, std::string_view operation, const TaskText& text, const Topology& topology,
             std::uint64_t seed);

}  // namespace vostok::plan
