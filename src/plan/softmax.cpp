// Softmax and its gradient from problem to plan and through `execute`.
#include "ops/softmax/problem.hpp"
#include "plan/make_plan.hpp"
#include "plan/operation.hpp"
#include "plan/rebuild.hpp"
#include "tune/softmax_case.hpp"

namespace vostok {

namespace plan {

namespace {

/// No n: one choice serves every call, if there is anything to store.
std::vector<ops::SizeRange> one_choice(bool stores) {
  return stores ? std::vector<ops::SizeRange>{{0, 0}} : std::vector<ops::SizeRange>();
}

}  // namespace

template <>
struct Operation<Softmax> {
  static constexpr const char* object = "softmax";
  using State = PlanStateOf<Softmax>;
  using Query = ops::SoftmaxQuery;

  static void validate(const Softmax& problem, const TopologyStatistics& statistics) {
    ops::validate(problem, statistics);
  }
  static bool transposed(const Softmax&) { return false; }
  /// Statistics are written for empty rows, too.
  static std::vector<ops::SizeRange> ranges(const Softmax& problem, const TopologyStatistics& statistics) {
    return one_choice(problem.batch > 0 &&
                      (statistics.nonzeros > 0 || (problem.statistics == RowStatistics::write && statistics.rows > 0)));
  }
  static std::shared_ptr<ops::Query> query(const Softmax& problem, const TopologyStatistics& statistics,
                                           const ops::SizeRange& n, const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask,
                                               std::uint64_t seed) {
    return std::make_unique<tune::SoftmaxCase>(device, static_cast<const ops::SoftmaxQuery&>(query).problem,
                                               std::move(mask), seed);
  }

  static std::int64_t size_of_call(const State&, SoftmaxArguments&) { return 0; }
  static std::array<Operand, 4> operands(const Softmax& problem, const TopologyStatistics& statistics, std::int64_t) {
    const Wanted stored = needed_if(statistics.nonzeros > 0);
    const Dtype output = problem.output.value_or(problem.element);
    const Region values = array_region(statistics.nonzeros, problem.element, problem.batch, problem.value_stride);
    const Region probabilities = array_region(statistics.nonzeros, output, problem.batch, problem.output_stride);
    return {{{"values", stored, declared(problem.alignment_bytes, problem.element), values},
             {.name = "output",
              .wanted = stored,
              .alignment_bytes = declared(problem.alignment_bytes, output),
              .region = probabilities,
              .written = true,
              .in_place_of = in_place_if(output == problem.element && probabilities == values, 0)},
             {.name = "row_statistics",
              .wanted = needed_if_asked(problem.statistics != RowStatistics::none),
              .alignment_bytes = size_of(Dtype::f32),
              .region = array_region(problem.batch * statistics.rows, Dtype::f32),
              .written = problem.statistics == RowStatistics::write,
              .asked_by = "statistics"},
             device_scale_operand(problem.scale, "scale = device")}};
  }
  static std::array<const void*, 4> pointers(const SoftmaxArguments& call) {
    return {call.values, call.output, call.row_statistics, call.device_scale};
  }
  static Scale scale(const Softmax& problem) { return problem.scale; }
};

template <>
struct Operation<SoftmaxBackward> {
  static constexpr const char* object = "the softmax's gradient";
  using State = PlanStateOf<SoftmaxBackward>;
  using Query = ops::SoftmaxBackwardQuery;

  static void validate(const SoftmaxBackward& problem, const TopologyStatistics& statistics) {
    ops::validate(problem, statistics);
  }
  static bool transposed(const SoftmaxBackward&) { return false; }
  static std::vector<ops::SizeRange> ranges(const SoftmaxBackward& problem, const TopologyStatistics& statistics) {
    return one_choice(problem.batch > 0 && statistics.nonzeros > 0);
  }
  static std::shared_ptr<ops::Query> query(const SoftmaxBackward& problem, const TopologyStatistics& statistics,
                                           const ops::SizeRange& n, const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask,
                                               std::uint64_t seed) {
    return std::make_unique<tune::SoftmaxBackwardCase>(
        device, static_cast<const ops::SoftmaxBackwardQuery&>(query).problem, std::move(mask), seed);
  }

  static std::int64_t size_of_call(const State&, SoftmaxBackwardArguments&) { return 0; }
  static std::array<Operand, 4> operands(const SoftmaxBackward& problem, const TopologyStatistics& statistics,
                                         std::int64_t) {
    const Dtype output = problem.output.value_or(problem.element);
    const Alignment in = declared(problem.alignment_bytes, problem.element);
    const Region probabilities =
        array_region(statistics.nonzeros, problem.element, problem.batch, problem.probability_stride);
    const Region outer =
        array_region(statistics.nonzeros, problem.element, problem.batch, problem.output_gradient_stride);
    const Region inner = array_region(statistics.nonzeros, output, problem.batch, problem.input_gradient_stride);
    return {{{"probabilities", Wanted::needed, in, probabilities},
             {"output_gradient", Wanted::needed, in, outer},
             {.name = "input_gradient",
              .wanted = Wanted::needed,
              .alignment_bytes = declared(problem.alignment_bytes, output),
              .region = inner,
              .written = true,
              .in_place_of = in_place_if(output == problem.element && inner == outer, 1)},
             device_scale_operand(problem.scale, "scale = device")}};
  }
  static std::array<const void*, 4> pointers(const SoftmaxBackwardArguments& call) {
    return {call.probabilities, call.output_gradient, call.input_gradient, call.device_scale};
  }
  static Scale scale(const SoftmaxBackward& problem) { return problem.scale; }
};

PlanStatePointer make_plan(const Planner& planner, const Softmax& problem, const Topology& topology,
                           const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

PlanStatePointer make_plan(const Planner& planner, const SoftmaxBackward& problem, const Topology& topology,
                           const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

Expected expected(const Planner& planner, const Softmax& problem, const Topology& topology,
                  const PlanOptions& options) {
  return expected_of(planner, problem, topology, options);
}

Expected expected(const Planner& planner, const SoftmaxBackward& problem, const Topology& topology,
                  const PlanOptions& options) {
  return expected_of(planner, problem, topology, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const Softmax& problem, const Topology& topology) {
  return rebind_operation(old, problem, topology);
}

PlanStatePointer rebind_plan(const PlanState& old, const SoftmaxBackward& problem, const Topology& topology) {
  return rebind_operation(old, problem, topology);
}

template Task rebuild<Softmax>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);
template Task rebuild<SoftmaxBackward>(const Planner&, std::string_view, const TaskText&, const Topology&,
                                       std::uint64_t);

}  // namespace plan

template class Plan<Softmax>;
template class Plan<SoftmaxBackward>;

}  // namespace vostok
