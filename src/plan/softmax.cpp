// Softmax and its gradient from problem to plan and through `execute`.
#include "ops/softmax/problem.hpp"
#include "plan/make_plan.hpp"
#include "plan/operation.hpp"
#include "plan/rebuild.hpp"
#include "tune/softmax_case.hpp"

namespace vostok {

namespace plan {

namespace {

/// A softmax has no n: one choice serves every call, if there is anything to store.
std::vector<ops::SizeRange> one_choice(bool stores) { return stores ? std::vector<ops::SizeRange>{{0, 0}} : std::vector<ops::SizeRange>(); }

}  // namespace

template <>
struct Operation<Softmax> {
  static constexpr const char* object = "softmax";
  using State = PlanStateOf<Softmax>;
  using Query = ops::SoftmaxQuery;

  static void validate(const Softmax& problem, const TopologyStatistics& statistics) { ops::validate(problem, statistics); }
  static bool transposed(const Softmax&) { return false; }
  /// Statistics are written for empty rows, too.
  static std::vector<ops::SizeRange> ranges(const Softmax& problem, const TopologyStatistics& statistics) {
    return one_choice(statistics.nonzeros > 0 || (problem.statistics == RowStatistics::write && statistics.rows > 0));
  }
  static std::shared_ptr<ops::Query> query(const Softmax& problem, const TopologyStatistics& statistics, const ops::SizeRange& n,
                                           const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask, std::uint64_t seed) {
    return std::make_unique<tune::SoftmaxCase>(device, static_cast<const ops::SoftmaxQuery&>(query).problem, std::move(mask), seed);
  }

  static std::int64_t size_of_call(const State&, SoftmaxArguments&) { return 0; }
  static std::array<Operand, 4> operands(const State& state, const SoftmaxArguments& arguments) {
    const bool stores = state.topology.nonzeros() > 0;
    const Softmax& problem = state.problem;
    return {{{"values", arguments.values, stores, declared(problem.alignment_bytes, problem.element)},
             {"output", arguments.output, stores, declared(problem.alignment_bytes, problem.output.value_or(problem.element))},
             {"row_statistics", arguments.row_statistics, problem.statistics != RowStatistics::none, size_of(Dtype::f32)},
             {"device_scale", arguments.device_scale, problem.scale == Scale::device, size_of(Dtype::f32)}}};
  }
};

template <>
struct Operation<SoftmaxBackward> {
  static constexpr const char* object = "the softmax's gradient";
  using State = PlanStateOf<SoftmaxBackward>;
  using Query = ops::SoftmaxBackwardQuery;

  static void validate(const SoftmaxBackward& problem, const TopologyStatistics& statistics) { ops::validate(problem, statistics); }
  static bool transposed(const SoftmaxBackward&) { return false; }
  static std::vector<ops::SizeRange> ranges(const SoftmaxBackward&, const TopologyStatistics& statistics) {
    return one_choice(statistics.nonzeros > 0);
  }
  static std::shared_ptr<ops::Query> query(const SoftmaxBackward& problem, const TopologyStatistics& statistics, const ops::SizeRange& n,
                                           const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask, std::uint64_t seed) {
    return std::make_unique<tune::SoftmaxBackwardCase>(device, static_cast<const ops::SoftmaxBackwardQuery&>(query).problem, std::move(mask), seed);
  }

  static std::int64_t size_of_call(const State&, SoftmaxBackwardArguments&) { return 0; }
  static std::array<Operand, 4> operands(const State& state, const SoftmaxBackwardArguments& arguments) {
    const SoftmaxBackward& problem = state.problem;
    const int in = declared(problem.alignment_bytes, problem.element);
    return {{{"probabilities", arguments.probabilities, true, in},
             {"output_gradient", arguments.output_gradient, true, in},
             {"input_gradient", arguments.input_gradient, true, declared(problem.alignment_bytes, problem.output.value_or(problem.element))},
             {"device_scale", arguments.device_scale, problem.scale == Scale::device, size_of(Dtype::f32)}}};
  }
};

PlanStatePointer make_plan(const Planner& planner, const Softmax& problem, const Topology& topology, const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

PlanStatePointer make_plan(const Planner& planner, const SoftmaxBackward& problem, const Topology& topology, const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const Softmax& problem, const Topology& topology) {
  return rebind_operation(old, problem, topology);
}

PlanStatePointer rebind_plan(const PlanState& old, const SoftmaxBackward& problem, const Topology& topology) {
  return rebind_operation(old, problem, topology);
}

template Task rebuild<Softmax>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);
template Task rebuild<SoftmaxBackward>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);

}  // namespace plan

template class Plan<Softmax>;
template class Plan<SoftmaxBackward>;

}  // namespace vostok
