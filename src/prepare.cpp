// Context::prepare: many problems, planned several at a time.
#include <vostok/prepare.hpp>

#include "base/boundary.hpp"
#include "base/each_in_turn.hpp"
#include "base/text.hpp"
#include "context_state.hpp"
#include "plan/option_checks.hpp"

namespace vostok {

namespace {

template <class Problem>
void plan_one(const Context& context, const Problem& problem, const Topology& topology, const PlanOptions& options) {
  if constexpr (Problem::masked) {
    context.plan(problem, topology, options);
  } else {
    if (topology)
      fail(ErrorCode::invalid_argument, "cannot prepare a problem: its operation has no topology, and one is given");
    context.plan(problem, options);
  }
}

/// Why it cannot be planned.
std::optional<Error> outcome_of(const Context& context, const Preparation& one, const PlanOptions& options) noexcept {
  try {
    std::visit([&](const auto& problem) { plan_one(context, problem, one.topology, options); }, one.problem);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error(ErrorCode::internal, error.what());
  }
}

}  // namespace

std::vector<std::optional<Error>> Context::prepare(std::span<const Preparation> problems,
                                                   const PlanOptions& options) const {
  const plan::Session& session = *state_of(*this, "prepare", "problems").session;
  return at_boundary("prepare", "problems", [&] {
    plan::validate(options);
    session.require_no_capture(options.stream, "prepare problems");
    std::vector<std::optional<Error>> outcomes(problems.size());
    // Two measurements at a time would measure each other.
    const std::size_t most = options.effort >= Effort::quick ? 1 : static_cast<std::size_t>(session.compile_threads());
    each_in_turn(problems.size(), most, [&](std::size_t i) { outcomes[i] = outcome_of(*this, problems[i], options); });
    return outcomes;
  });
}

}  // namespace vostok
