// SDDMM from problem to plan and through `execute`.
#include "ops/sddmm/problem.hpp"
#include "plan/make_plan.hpp"
#include "plan/operation.hpp"
#include "plan/rebuild.hpp"
#include "tune/sddmm_case.hpp"

namespace vostok {

namespace plan {

template <>
struct Operation<Sddmm> {
  static constexpr const char* object = "SDDMM";
  using State = PlanStateOf<Sddmm>;
  using Query = ops::SddmmQuery;

  static void validate(const Sddmm& problem, const TopologyStatistics& statistics) { ops::validate(problem, statistics); }
  static bool transposed(const Sddmm&) { return false; }
  static std::vector<ops::SizeRange> ranges(const Sddmm& problem, const TopologyStatistics& statistics) {
    return statistics.nonzeros == 0 ? std::vector<ops::SizeRange>() : std::vector<ops::SizeRange>{{problem.n, problem.n}};
  }
  static std::shared_ptr<ops::Query> query(const Sddmm& problem, const TopologyStatistics& statistics, const ops::SizeRange& n,
                                           const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask, std::uint64_t seed) {
    return std::make_unique<tune::SddmmCase>(device, static_cast<const ops::SddmmQuery&>(query).problem, std::move(mask), seed);
  }

  static std::int64_t size_of_call(const State& state, SddmmArguments&) { return state.problem.n; }
  static std::array<Operand, 5> operands(const State& state, const SddmmArguments& arguments) {
    const Sddmm& problem = state.problem;
    const int in = declared(problem.alignment_bytes, problem.element);
    const int out = declared(problem.alignment_bytes, problem.output.value_or(problem.element));
    return {{{"lhs", arguments.lhs, problem.n > 0, in},
             {"rhs", arguments.rhs, problem.n > 0, in},
             {"output", arguments.output, true, out},
             {"multiplier", arguments.multiplier, problem.multiply, in},
             {"device_scale", arguments.device_scale, problem.scale == Scale::device, size_of(Dtype::f32)}}};
  }
};

PlanStatePointer make_plan(const Planner& planner, const Sddmm& problem, const Topology& topology, const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const Sddmm& problem, const Topology& topology) {
  return rebind_operation(old, problem, topology);
}

template Task rebuild<Sddmm>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);

}  // namespace plan

template class Plan<Sddmm>;

}  // namespace vostok
