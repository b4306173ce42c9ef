// The operations' way from a problem to a plan and through `execute`: what differs between operations, and the code
// that all share. Each operation specialises Operation<Problem> in a file of its own and instantiates Plan<Problem>
// there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/boundary.hpp"
#include "base/text.hpp"
#include "plan/features.hpp"
#include "plan/packed.hpp"
#include "plan/plan_state.hpp"
#include "plan/planner.hpp"

namespace vostok::plan {

/// A specialisation has
///   static constexpr const char* object;                                      what messages call it: "SpMM"
///   static void validate(const Problem&, const TopologyStatistics&);
///   static bool transposed(const Problem&);                                   whether kernels walk the topology's
///   transpose static std::vector<ops::SizeRange> ranges(const Problem&, const TopologyStatistics&);   a choice for
///   each; empty: nothing to compute static std::shared_ptr<ops::Query> query(const Problem&, const
///   TopologyStatistics&, const ops::SizeRange&, const device::Device*); static std::unique_ptr<tune::Case>
///   make_case(device::Device&, const ops::Query&, sparse::Csr, std::uint64_t seed); static std::int64_t
///   size_of_call(const PlanStateOf<Problem>&, Arguments&);  the n of this call; checks it, and writes it into the
///   arguments static std::array<Operand, N> operands(const Problem&, const TopologyStatistics&, std::int64_t n);  of a
///   call of this n; the largest n's
///                                                                                                  hold those of every
///                                                                                                  smaller one
///   static std::array<const void*, N> pointers(const Arguments&);               in the same order
///   static Scale scale(const Problem&);                                         where a call may pass a factor by
///   value
/// and, where values may be packed once,
///   static std::optional<TaskPacking> packing(const Problem&, const std::shared_ptr<const ops::Query>&);   nothing
///   where they are not static void finish(PlanStateOf<Problem>&);                                  called after the
///   last choice; notes what is packed static void take_packed(const PlanStateOf<Problem>&, Stream, Arguments&); checks
///   and notes what a call brings static PackedValues pack(const PlanStateOf<Problem>&, Stream, const void* values,
///   const PackedMemory*);   null: in memory of its own
template <class Problem>
struct Operation;

/// invalid_argument unless the new topology of a rebind has the old one's shape.
void require_same_shape(const char* object, const Topology& old, const Topology& topology);

/// Whether an operation's values may be packed once.
template <class Problem>
inline constexpr bool packs_values = requires(const Problem& problem) { problem.value_lifetime; };

/// Whether one plan may serve several n.
template <class Problem>
inline constexpr bool serves_several_sizes = requires(const Problem& problem) { problem.n_values; };

/// A plan state that has no choices yet.
template <class State, class Problem>
std::shared_ptr<State> empty_state(const Planner& planner, const Problem& problem, const Topology& topology,
                                   const PlanOptions& options) {
  auto state = std::make_shared<State>();
  state->planner = planner.shared_from_this();
  state->session = planner.session();
  state->topology = topology;
  state->options = options;
  state->problem = problem;
  return state;
}

/// Notes the operands of the largest n, which calls must bring.
template <class Problem>
void note_operands(PlanStateOf<Problem>& state, std::int64_t n) {
  const TopologyStatistics statistics = state.topology ? state.topology.statistics() : TopologyStatistics{};
  const auto operands = Operation<Problem>::operands(state.problem, statistics, n);
  state.operands.assign(operands.begin(), operands.end());
}

inline void add_choice(PlanState& state, Choice choice) {
  state.workspace_bytes = std::max(state.workspace_bytes, choice.workspace_bytes);
  state.choices.push_back(std::move(choice));
}

/// Narrows the choices that count by the options' policy and family. Choices are stored and found separately for each.
void apply_options(ops::Query& query, const PlanOptions& options);

/// The statistics of what a problem's kernels walk: the topology, or its transpose, which is made here if needed.
template <class Problem>
TopologyStatistics statistics_for(const Planner& planner, const Problem& problem, const Topology& topology) {
  return planner.statistics(topology, topology && Operation<Problem>::transposed(problem));
}

/// Context::plan after its checks of handles.
template <class Problem>
std::shared_ptr<const PlanState> plan_operation(const Planner& planner, const Problem& problem,
                                                const Topology& topology, const PlanOptions& options) {
  using Op = Operation<Problem>;
  device::Device& device = planner.session()->device();
  Op::validate(problem, topology ? topology.statistics() : TopologyStatistics{});
  const TopologyStatistics statistics = statistics_for(planner, problem, topology);
  auto state = empty_state<PlanStateOf<Problem>>(planner, problem, topology, options);
  std::vector<Task> tasks;
  for (const ops::SizeRange& n : Op::ranges(problem, statistics)) {
    const auto query = Op::query(problem, statistics, n, &device);
    apply_options(*query, options);
    const auto make_case = [&, query] {
      return Op::make_case(device, *query, topology ? topology.state()->host_copy() : sparse::Csr{}, options.seed);
    };
    tasks.push_back({.query = query, .topology = topology, .make_case = make_case});
    if constexpr (packs_values<Problem>) tasks.back().packing = Op::packing(problem, query);
  }
  for (Choice& choice : planner.choose_all(std::move(tasks), options)) add_choice(*state, std::move(choice));
  note_operands(*state, state->choices.empty() ? 0 : state->choices.back().query->n.most);
  if constexpr (packs_values<Problem>) Op::finish(*state);
  return state;
}

/// What a plan is expected to take, without making it. Infinite where no family serves the problem.
template <class Problem>
Expected expected_of(const Planner& planner, const Problem& problem, const Topology& topology,
                     const PlanOptions& options) {
  using Op = Operation<Problem>;
  const TopologyStatistics statistics = statistics_for(planner, problem, topology);
  Expected sum;
  for (const ops::SizeRange& n : Op::ranges(problem, statistics)) {
    const auto query = Op::query(problem, statistics, n, &planner.session()->device());
    apply_options(*query, options);
    sum += planner.expected(*query, options.effort);
  }
  return sum;
}

/// Context::plan for an operation with a mask.
template <class Problem>
std::shared_ptr<const PlanState> plan_masked(const Planner& planner, const Problem& problem, const Topology& topology,
                                             const PlanOptions& options) {
  planner.require_usable(topology, options.stream, fmt::format("plan {}", Operation<Problem>::object));
  return plan_operation(planner, problem, topology, options);
}

/// A plan for another mask of the same shape. The problem is the old one except for strides that follow the mask.
template <class Problem>
std::shared_ptr<const PlanState> rebind_operation(const PlanState& old, const Problem& problem,
                                                  const Topology& topology) {
  using Op = Operation<Problem>;
  const Planner& planner = *old.planner;
  const auto anew = [&] { return plan_operation(planner, problem, topology, old.options); };
  const TopologyStatistics statistics = statistics_for(planner, problem, topology);
  if (feature_bucket(statistics) != feature_bucket(statistics_for(planner, problem, old.topology))) return anew();

  Op::validate(problem, topology.statistics());
  auto state = empty_state<PlanStateOf<Problem>>(planner, problem, topology, old.options);
  for (const Choice& choice : old.choices) {
    // Kernels take the longest row as a bound. Keeping the larger bound stops rebinds from switching back and
    // forth between two kernels.
    TopologyStatistics bounds = statistics;
    bounds.longest_row = std::max(bounds.longest_row, choice.query->statistics.longest_row);
    const auto query = Op::query(problem, bounds, choice.query->n, &planner.session()->device());
    apply_options(*query, old.options);
    auto rebound = planner.rebind(choice, query, topology);
    if (!rebound) return anew();
    add_choice(*state, *std::move(rebound));
  }
  note_operands(*state, state->choices.empty() ? 0 : state->choices.back().query->n.most);
  if constexpr (packs_values<Problem>) Op::finish(*state);
  return state;
}

/// Requires that memory a call writes is its own. Byte ranges may meet if the elements interleave.
template <class Problem>
void require_own_memory(const PlanStateOf<Problem>& state, Pointers pointers, const WorkspaceOfCall& workspace,
                        std::int64_t n) {
  using Op = Operation<Problem>;
  if (!may_overlap(state.operands, pointers, workspace)) [[likely]]
    return;
  require_apart(Op::object,
                Op::operands(state.problem, state.topology ? state.topology.statistics() : TopologyStatistics{}, n),
                pointers, workspace);
}

/// Plan::execute: checks, binding and the launches. No lock, no allocation, no driver call but the launches.
template <class Problem>
void execute_operation(const PlanStateOf<Problem>& state, Stream stream, const typename Problem::Arguments& arguments) {
  using Op = Operation<Problem>;
  typename Problem::Arguments call = arguments;
  const std::int64_t n = Op::size_of_call(state, call);
  if constexpr (requires { Op::scale(state.problem); })
    require_asked_scale(Op::object, Op::scale(state.problem), call.scale);
  const bool idle = state.choices.empty() || (serves_several_sizes<Problem> && n == 0);
  if (idle) return require_asked(Op::object, state.operands, Op::pointers(call));
  if constexpr (packs_values<Problem>) Op::take_packed(state, stream, call);
  const auto pointers = Op::pointers(call);
  require_pointers(Op::object, state.operands, pointers);
  const Choice& choice = state.choice_for(n);
  const WorkspaceOfCall workspace{call.workspace, choice.workspace_bytes};
  require_workspace(Op::object, workspace);
  require_own_memory(state, pointers, workspace, n);
  if (state.topology) state.topology.state()->note_use(stream);
  for (const ops::Launch& launch : choice.launches) {
    const bool is_first = &launch == &choice.launches.front();
    launch.enqueue(state.session->device(), stream, &call, !is_first || state.options.overlap_calls);
  }
}

}  // namespace vostok::plan

namespace vostok {

// A composed operation (attention) has a State, an execute and a rebind of its own in its Operation.

template <class Problem>
void Plan<Problem>::execute(Stream stream, const Arguments& arguments) const {
  using Op = plan::Operation<Problem>;
  const auto& state = plan::state_of<plan::PlanStateOf<Problem>>(*this, "execute", Op::object);
  state.session->device().require_here("execute", Op::object);
  at_boundary("execute", Op::object, [&] {
    if constexpr (requires { typename Op::Composed; })
      static_cast<const typename Op::Composed&>(state).execute(stream, arguments);
    else plan::execute_operation(state, stream, arguments);
  });
}

template <class Problem>
Plan<Problem> Plan<Problem>::rebind(const Topology& topology) const
  requires Problem::masked
{
  using Op = plan::Operation<Problem>;
  const auto& state = plan::state_of<plan::PlanStateOf<Problem>>(*this, "rebind", Op::object);
  return at_boundary("rebind", Op::object, [&] {
    state.planner->require_usable(topology, state.options.stream, fmt::format("rebind {}", Op::object));
    plan::require_same_shape(Op::object, state.topology, topology);
    if constexpr (requires { typename Op::Composed; })
      return Plan(static_cast<const typename Op::Composed&>(state).rebind(topology));
    else return Plan(plan::rebind_operation(state, state.problem, topology));
  });
}

template <class Problem>
std::int64_t Plan<Problem>::saved_bytes() const
  requires requires(const Problem& problem) { problem.saved; } ||
           requires(const Problem& problem) { problem.forward.saved; }
{
  using Op = plan::Operation<Problem>;
  return plan::state_of<typename Op::Composed>(*this, "use", Op::object).saved_bytes;
}

template <class Problem>
PackedValues Plan<Problem>::pack(Stream stream, const void* values) const
  requires requires(const Problem& problem) { problem.value_lifetime; }
{
  using Op = plan::Operation<Problem>;
  const auto& state = plan::state_of<plan::PlanStateOf<Problem>>(*this, "pack values for", Op::object);
  return at_boundary("pack values for", Op::object, [&] { return Op::pack(state, stream, values, nullptr); });
}

template <class Problem>
PackedValues Plan<Problem>::pack_into(Stream stream, const void* values, const PackedMemory& memory) const
  requires requires(const Problem& problem) { problem.value_lifetime; }
{
  using Op = plan::Operation<Problem>;
  const auto& state = plan::state_of<plan::PlanStateOf<Problem>>(*this, "pack values for", Op::object);
  return at_boundary("pack values for", Op::object, [&] { return Op::pack(state, stream, values, &memory); });
}

template <class Problem>
std::int64_t Plan<Problem>::packed_bytes() const
  requires requires(const Problem& problem) { problem.value_lifetime; }
{
  const PlanState& state = plan::state_of(*this, "use", plan::Operation<Problem>::object);
  return state.packed ? plan::packed_bytes(state.topology, *state.packed) : 0;
}

template <class Problem>
std::string Plan<Problem>::packed_format() const
  requires requires(const Problem& problem) { problem.value_lifetime; }
{
  const PlanState& state = plan::state_of(*this, "use", plan::Operation<Problem>::object);
  return state.packed ? state.packed->format() : std::string();
}

template <class Problem>
const Problem& Plan<Problem>::problem() const {
  return plan::state_of<plan::PlanStateOf<Problem>>(*this, "use", plan::Operation<Problem>::object).problem;
}

}  // namespace vostok
