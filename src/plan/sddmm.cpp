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

  static void validate(const Sddmm& problem, const TopologyStatistics& statistics) {
    ops::validate(problem, statistics);
  }
  static bool transposed(const Sddmm&) { return false; }
  static std::vector<ops::SizeRange> ranges(const Sddmm& problem, const TopologyStatistics& statistics) {
    return statistics.nonzeros == 0 || problem.batch == 0 ? std::vector<ops::SizeRange>()
                                                          : std::vector<ops::SizeRange>{{problem.n, problem.n}};
  }
  static std::shared_ptr<ops::Query> query(const Sddmm& problem, const TopologyStatistics& statistics,
                                           const ops::SizeRange& n, const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask,
                                               std::uint64_t seed) {
    return std::make_unique<tune::SddmmCase>(device, static_cast<const ops::SddmmQuery&>(query).problem,
                                             std::move(mask), seed);
  }

  static std::int64_t size_of_call(const State& state, SddmmArguments&) { return state.problem.n; }
  static std::array<Operand, 5> operands(const Sddmm& problem, const TopologyStatistics& statistics, std::int64_t n) {
    const Dtype output = problem.output.value_or(problem.element);
    const Alignment in = declared(problem.alignment_bytes, problem.element);
    const Alignment out = declared(problem.alignment_bytes, output);
    const auto lhs =
        ops::stored_matrix(problem.lhs_layout, statistics.rows, n, problem.lhs_leading, problem.lhs_stride);
    const auto rhs =
        ops::stored_matrix(problem.rhs_layout, statistics.cols, n, problem.rhs_leading, problem.rhs_stride);
    const Region stored = array_region(statistics.nonzeros, output, problem.batch, problem.output_stride);
    // A stride of 0 means one C for the whole batch.
    const Region multiplier =
        array_region(statistics.nonzeros, problem.element, problem.multiplier_stride != 0 ? problem.batch : 1,
                     problem.multiplier_stride);
    return {{{"lhs", needed_if(n > 0), in, matrix_region(lhs, problem.element, problem.batch)},
             {"rhs", needed_if(n > 0), in, matrix_region(rhs, problem.element, problem.batch)},
             {.name = "output",
              .wanted = Wanted::needed,
              .alignment_bytes = out,
              .region = stored,
              .written = true,
              .in_place_of = in_place_if(output == problem.element && stored == multiplier, 3)},
             {.name = "multiplier",
              .wanted = needed_if_asked(problem.multiply),
              .alignment_bytes = in,
              .region = multiplier,
              .asked_by = "multiply"},
             device_scale_operand(problem.scale, "scale = device")}};
  }
  static std::array<const void*, 5> pointers(const SddmmArguments& call) {
    return {call.lhs, call.rhs, call.output, call.multiplier, call.device_scale};
  }
  static Scale scale(const Sddmm& problem) { return problem.scale; }
};

PlanStatePointer make_plan(const Planner& planner, const Sddmm& problem, const Topology& topology,
                           const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

Expected expected(const Planner& planner, const Sddmm& problem, const Topology& topology, const PlanOptions& options) {
  return expected_of(planner, problem, topology, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const Sddmm& problem, const Topology& topology) {
  return rebind_operation(old, problem, topology);
}

template Task rebuild<Sddmm>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);

}  // namespace plan

template class Plan<Sddmm>;

}  // namespace vostok
