// From a task's text back to the task (plan/task_text.hpp), for one operation. Its Operation names its query type:
// `Query`.
#pragma once

#include <memory>
#include <utility>

#include "base/text.hpp"
#include "ops/problem_text.hpp"
#include "ops/resolved_query.hpp"
#include "plan/operation.hpp"
#include "plan/task_text.hpp"

namespace vostok::plan {

template <class Problem>
Task rebuild(const Planner& planner, std::string_view operation, const TaskText& text, const Topology& topology,
             std::uint64_t seed) {
  using Op = Operation<Problem>;
  device::Device& device = planner.session()->device();
  Problem problem{};
  for (const auto& [field, value] : text.problem) ops::set_field(problem, fmt::format("{}={}", field, value));
  TopologyStatistics statistics = text.statistics.value_or(TopologyStatistics{});
  if (topology && !text.statistics) statistics = topology.state()->statistics(Op::transposed(problem));
  const auto query =
      ops::resolved_query<typename Op::Query>(operation, std::move(problem), statistics, text.n, &device);
  apply_options(*query, {.family = text.family, .policy = text.policy});
  Task task{.query = query, .topology = topology, .make_case = [&device, query, topology, seed] {
              return Op::make_case(device, *query, topology ? topology.state()->host_copy() : sparse::Csr{}, seed);
            }};
  if constexpr (packs_values<Problem>) task.packing = Op::packing(query->problem, query);
  if (text.packed_format && task.packing) task.query = task.packing->restricted(*text.packed_format);
  return task;
}

}  // namespace vostok::plan
