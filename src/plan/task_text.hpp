// A task as text, so that another process can measure for it, and the way back.
#pragma once

#include <optional>
#include <string>

#include "plan/planner.hpp"

namespace vostok::plan {

/// What of a task its candidates' launches and operands depend on, but for the topology.
struct TaskText {
  std::string operation = {};
  FieldMap problem = {};  ///< every field of the resolved problem
  ops::SizeRange n = {};
  Policy policy = Policy::warm;
  std::string family = {};                            ///< the only one that may serve it; empty: any
  std::optional<std::string> packed_format = {};      ///< the only one that values may be read in, where its plan has other choices
  std::optional<TopologyStatistics> statistics = {};  ///< what kernels see of the structure, where that is not the topology's
};

/// Without what narrows the choice of candidates.
TaskText text_of(const ops::Query& query);

/// What a key tells of its task: rows are taken to be sorted, without duplicates and none of them empty. Nothing where this version cannot read it.
std::optional<TaskText> text_of(const ProblemKey& key);

/// The task on this planner's device; its operands are made with `seed`. `topology` is empty for operations without one. Errors:
/// invalid_argument (an operation or a value that this version does not know).
Task rebuilt_task(const Planner& planner, const TaskText& text, const Topology& topology, std::uint64_t seed);

/// The same for one operation, instantiated beside its Operation. `operation` lives as long as the program.
template <class Problem>
Task rebuild(const Planner& planner, std::string_view operation, const TaskText& text, const Topology& topology, std::uint64_t seed);

}  // namespace vostok::plan
