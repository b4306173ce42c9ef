// SpMM from problem to plan and through `execute`.
#include "ops/spmm/problem.hpp"
#include "plan/make_plan.hpp"
#include "plan/operation.hpp"
#include "tune/spmm_case.hpp"

namespace vostok {

namespace plan {

template <>
struct Operation<Spmm> {
  static constexpr const char* object = "SpMM";
  using State = PlanStateOf<Spmm>;

  static void validate(const Spmm& problem, const TopologyStatistics& statistics) { ops::validate(problem, statistics); }
  static bool transposed(const Spmm& problem) { return problem.sparse_transposed; }
  static std::vector<ops::SizeRange> ranges(const Spmm& problem, const TopologyStatistics& statistics) {
    return statistics.rows == 0 ? std::vector<ops::SizeRange>() : ops::size_ranges(problem);
  }
  static std::shared_ptr<const ops::Query> query(const Spmm& problem, const TopologyStatistics& statistics, const ops::SizeRange& n,
                                                 const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr matrix, std::uint64_t seed) {
    return std::make_unique<tune::SpmmCase>(device, static_cast<const ops::SpmmQuery&>(query).problem, std::move(matrix), seed);
  }

  static std::int64_t size_of_call(const State& state, SpmmArguments& arguments) {
    const Spmm& problem = state.problem;
    if (problem.n_values.empty()) {
      if (arguments.n != 0 && arguments.n != problem.n)
        fail(ErrorCode::invalid_argument, "cannot execute SpMM: .n = {}, and the plan was made for n = {}", arguments.n, problem.n);
      arguments.n = problem.n;
    } else {
      // The last choice serves the largest; without choices there is nothing to serve fast.
      const std::int64_t most = state.choices.empty() ? ops::largest_size(problem) : state.choices.back().query->n.most;
      if (arguments.n < 1 || arguments.n > most)
        fail(ErrorCode::invalid_argument, "cannot execute SpMM: .n = {}, and the plan serves 1 to {}", arguments.n, most);
    }
    return arguments.n;
  }

  static std::array<Operand, 6> operands(const State& state, const SpmmArguments& arguments) {
    const bool multiplies = state.topology.nonzeros() > 0;
    const Spmm& problem = state.problem;
    const Epilogue& epilogue = problem.epilogue;
    const int in = declared(problem.alignment_bytes, problem.element);
    const int out = declared(problem.alignment_bytes, problem.output.value_or(problem.element));
    return {{{"values", arguments.values, multiplies, in},
             {"dense", arguments.dense, multiplies, in},
             {"output", arguments.output, true, out},
             {"bias", arguments.bias, epilogue.bias != Bias::none, declared(problem.alignment_bytes, Dtype::f32)},
             {"residual", arguments.residual, epilogue.residual, out},
             {"device_scale", arguments.device_scale, epilogue.scale == Scale::device, size_of(Dtype::f32)}}};
  }
};

PlanStatePointer make_plan(const Planner& planner, const Spmm& problem, const Topology& topology, const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const Spmm& problem, const Topology& topology) { return rebind_operation(old, problem, topology); }

}  // namespace plan

template class Plan<Spmm>;

}  // namespace vostok
