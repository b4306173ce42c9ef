// The two ways of attention, forward and backward: kernels without scores in memory, and a composition of steps. The
// cheaper is planned.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "plan/attention_steps.hpp"
#include "plan/composed.hpp"
#include "plan/fused_attention.hpp"
#include "plan/operation.hpp"

namespace vostok::plan {

/// What PlanOptions::family calls the composition.
inline constexpr const char* composed_family = "composed";

/// The same problem of so many heads of queries, and the heads of keys that these read.
inline SparseAttention of_heads(const SparseAttention& forward, std::int64_t heads) {
  SparseAttention part = forward;
  part.batch = heads;
  if (part.key_heads != 0) part.key_heads = heads / ops::group_of(forward);
  return part;
}

/// Heads that one kernel computes at a time, and what all are expected to take; infinite where no kernel serves them.
struct FusedHeads {
  std::int64_t heads;
  double us;
};

/// All heads, or a divisor of them where the workspace of more is not allowed. Heads that are dropped have numbers, and
/// biases may be shared: these go together.
template <class State>
FusedHeads fused_heads(const Planner& planner, const SparseAttention& forward, const Topology& mask,
                       const PlanOptions& options) {
  constexpr std::int64_t most_parts = 64;
  const std::int64_t groups = forward.batch / ops::group_of(forward);
  const std::int64_t most = forward.dropped || forward.biased ? 1 : std::clamp<std::int64_t>(groups, 1, most_parts);
  for (std::int64_t parts = 1; parts <= most; ++parts) {
    const std::int64_t heads = forward.batch / parts;
    if (groups % parts != 0 || (parts > 1 && !groups_start_aligned(forward, mask.statistics(), heads))) continue;
    const double us = expected(planner, typename State::Fused{of_heads(forward, heads)}, mask, options).us();
    if (!std::isinf(us)) return {heads, us * static_cast<double>(parts)};
  }
  return {forward.batch, std::numeric_limits<double>::infinity()};
}

/// State: a composed state of an operation's name (`operation`), with `Plan<State::Fused> fused` in place of its steps,
/// of a Problem whose forward problem is forward_of(problem).
template <class State, class Problem>
std::shared_ptr<State> fused_state(const Planner& planner, const Problem& problem, const Topology& mask,
                                   const PlanOptions& options, std::int64_t heads) {
  using Fused = typename State::Fused;
  auto state = empty_state<State>(planner, problem, mask, options);
  const SparseAttention& forward = State::forward_of(state->problem);
  state->fused = Plan<Fused>(make_plan(planner, Fused{of_heads(forward, heads)}, mask, options));
  state->carve(AttentionSteps(forward, mask.statistics(), heads));
  return state;
}

template <class State, class Problem>
std::shared_ptr<State> composed_state(const Planner& planner, const Problem& problem, const Topology& mask,
                                      const PlanOptions& options) {
  auto state = empty_state<State>(planner, problem, mask, options);
  if (options.family == composed_family) state->options.family.clear();
  const SparseAttention& forward = State::forward_of(state->problem);
  require_composable(Operation<Problem>::object, forward);
  plan_steps(*state, AttentionSteps(forward, mask.statistics(), heads_at_once(forward, mask.statistics())));
  return state;
}

/// How many groups of so many heads there are.
inline double head_groups(std::int64_t batch, std::int64_t heads) {
  const std::int64_t groups = heads > 0 ? batch / heads : 1;
  return static_cast<double>(groups);
}

/// What cost models leave out of the composition's steps in 16 bits, which read many short lines: nine of an H200 take
/// 1.12 to 1.46 of it, while f32's take 0.92 to 1.11 (bench/notes/softmax_and_attention.md).
inline double predictions_take(const SparseAttention& forward) { return forward.element == Dtype::f32 ? 1.0 : 1.25; }

/// What the composition is expected to take, without planning it.
template <class State, class Problem>
double composed_us(const Planner& planner, const Problem& problem, const Topology& mask, const PlanOptions& options) {
  const SparseAttention& forward = State::forward_of(problem);
  const AttentionSteps of(forward, mask.statistics(), heads_at_once(forward, mask.statistics()));
  Expected sum;
  empty_state<State>(planner, problem, mask, options)->each_step(of, [&](auto, const auto& step) {
    sum += expected(planner, step, mask, options);
  });
  return (sum.measured_us + predictions_take(forward) * sum.predicted_us) * head_groups(of.batch(), of.heads());
}

/// What a planned state's choices are expected to take, measured where they were.
template <class State>
double chosen_us(const State& state) {
  double us = 0;
  for (const AnyPlan* step : state.steps())
    if (const Choice* choice = step->state()->main_choice()) us += expected_us(*choice->query, *choice->decision);
  return us * head_groups(State::forward_of(state.problem).batch, state.heads);
}

/// Both ways are planned where they are measured; else what is expected decides.
template <class State, class Problem>
std::shared_ptr<State> cheaper_state(const Planner& planner, const Problem& problem, const Topology& mask,
                                     const PlanOptions& options) {
  const SparseAttention& forward = State::forward_of(problem);
  const auto [heads, fused_us] = fused_heads<State>(planner, forward, mask, options);
  if (beyond_composition(forward) != nullptr) return fused_state<State>(planner, problem, mask, options, heads);
  if (std::isinf(fused_us)) return composed_state<State>(planner, problem, mask, options);
  if (options.effort < Effort::quick || planner.session()->cache_only()) {
    return fused_us <= composed_us<State>(planner, problem, mask, options)
               ? fused_state<State>(planner, problem, mask, options, heads)
               : composed_state<State>(planner, problem, mask, options);
  }
  PlanOptions share = options;
  share.budget_seconds /= 2;
  auto fused = fused_state<State>(planner, problem, mask, share, heads);
  auto composed = composed_state<State>(planner, problem, mask, share);
  auto cheaper = chosen_us(*fused) <= chosen_us(*composed) ? fused : composed;
  cheaper->options = options;
  return cheaper;
}

/// By the options' family, where it is one of this pass or of the composition's steps, or else the cheaper way.
template <class State, class Problem>
std::shared_ptr<State> plan_attention(const Planner& planner, const Problem& problem, const Topology& mask,
                                      const PlanOptions& options) {
  if (ops::find_family(State::operation, options.family) != nullptr) {
    const std::int64_t heads = fused_heads<State>(planner, State::forward_of(problem), mask, options).heads;
    return fused_state<State>(planner, problem, mask, options, heads);
  }
  PlanOptions any = options;
  if (is_fused_family(options.family)) any.family.clear();  // of the other pass
  if (!any.family.empty()) return composed_state<State>(planner, problem, mask, options);
  return cheaper_state<State>(planner, problem, mask, any);
}

/// The same way for another mask.
template <class State>
std::shared_ptr<const PlanState> rebind_attention(const State& old, const Topology& mask) {
  using Fused = typename State::Fused;
  auto state = empty_state<State>(*old.planner, old.problem, mask, old.options);
  const SparseAttention& forward = State::forward_of(state->problem);
  if (old.fused) {
    state->fused = Plan<Fused>(rebind_plan(*old.fused.state(), Fused{of_heads(forward, old.heads)}, mask));
    state->carve(AttentionSteps(forward, mask.statistics(), old.heads));
  } else {
    rebind_steps(*state, old, AttentionSteps(forward, mask.statistics(), old.heads));
  }
  return state;
}

}  // namespace vostok::plan
