// SpMM from problem to plan and through `execute`.
#include "ops/spmm/problem.hpp"
#include "plan/make_plan.hpp"
#include "plan/operation.hpp"
#include "plan/rebuild.hpp"
#include "tune/spmm_case.hpp"

namespace vostok {

namespace plan {

template <>
struct Operation<Spmm> {
  static constexpr const char* object = "SpMM";
  using State = PlanStateOf<Spmm>;
  using Query = ops::SpmmQuery;

  static void validate(const Spmm& problem, const TopologyStatistics& statistics) { ops::validate(problem, statistics); }
  static bool transposed(const Spmm& problem) { return problem.sparse_transposed; }
  static std::vector<ops::SizeRange> ranges(const Spmm& problem, const TopologyStatistics& statistics) {
    return statistics.rows == 0 ? std::vector<ops::SizeRange>() : ops::size_ranges(problem);
  }
  static std::shared_ptr<ops::Query> query(const Spmm& problem, const TopologyStatistics& statistics, const ops::SizeRange& n,
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
    return {{{"values", arguments.values, multiplies && !state.packed, in},
             {"dense", arguments.dense, multiplies, in},
             {"output", arguments.output, true, out},
             {"bias", arguments.bias, epilogue.bias != Bias::none, declared(problem.alignment_bytes, Dtype::f32)},
             {"residual", arguments.residual, epilogue.residual, out},
             {"device_scale", arguments.device_scale, epilogue.scale == Scale::device, size_of(Dtype::f32)}}};
  }

  static std::optional<TaskPacking> packing(const Spmm& problem, const std::shared_ptr<const ops::Query>& query) {
    if (problem.value_lifetime != ValueLifetime::persistent) return std::nullopt;
    const auto& spmm = static_cast<const ops::SpmmQuery&>(*query);
    const auto restricted = [query](const std::string& format) {
      auto narrower = std::make_shared<ops::SpmmQuery>(static_cast<const ops::SpmmQuery&>(*query));
      const std::string key = fmt::format(" packed_format={}", format);
      narrower->packed_format = format;
      narrower->exact += key;
      narrower->identity += key;
      return narrower;
    };
    const auto pack = [query, &spmm](const Topology& of, const std::string& format, const void* values) {
      return plan::pack(of, packed_kind(spmm, format), {.values = values, .element = spmm.problem.element, .stride = spmm.value_stride()}, nullptr);
    };
    const auto kernel = [query, &spmm](const std::string& format) { return packing_kernel(packed_kind(spmm, format), spmm.problem.element); };
    return TaskPacking{.restricted = restricted, .pack = pack, .kernel = kernel};
  }

  static void finish(State& state) {
    const Spmm& problem = state.problem;
    if (problem.value_lifetime != ValueLifetime::persistent) return;
    const Choice* choice = state.main_choice();
    // All choices read one format. Without any, whatever is packed is not read.
    if (choice == nullptr) state.packed = PackedKind{.element = problem.element};
    else
      state.packed = packed_kind(static_cast<const ops::SpmmQuery&>(*choice->query),
                                 choice->decision->family->packed_format(*choice->query, choice->decision->config));
    prepare_packing(*state.session, *state.packed, problem.element);
  }

  static void take_packed(const State& state, Stream stream, SpmmArguments& call) {
    const PackedState* const packed = call.packed.state();
    if (!state.packed) {
      if (packed != nullptr) fail_lifetime("packed", "values");
      return;
    }
    if (call.values != nullptr) fail_lifetime("values", "packed");
    if (packed == nullptr) fail_missing(object, "packed");
    if (packed->topology.state() != state.topology.state() || packed->kind != *state.packed) fail_packed(*packed, *state.packed);
    packed->note_use(stream);
    call.values = packed->memory();  // of families that read CSR values
  }

  static PackedValues pack(const State& state, Stream stream, const void* values) {
    const Spmm& problem = state.problem;
    state.session->require_no_capture(stream, "pack values");
    if (!state.packed) fail(ErrorCode::invalid_argument, "cannot pack values: the plan's value_lifetime is per_call; plan with persistent");
    const Operand operand{"values", values, state.topology.nonzeros() > 0, declared(problem.alignment_bytes, problem.element)};
    require_operands(object, std::array{operand});
    return plan::pack(
        state.topology, *state.packed,
        {.values = values, .element = problem.element, .stride = problem.value_stride != 0 ? problem.value_stride : state.topology.nonzeros()},
        stream);
  }

 private:
  [[noreturn]] static void fail_lifetime(const char* given, const char* wanted) {
    fail(ErrorCode::invalid_argument, "cannot execute SpMM: .{} is given, and a plan of this value_lifetime takes .{}", given, wanted);
  }

  [[noreturn]] static void fail_packed(const PackedState& packed, const PackedKind& wanted) {
    if (packed.kind == wanted)
      fail(ErrorCode::format_mismatch, "cannot execute SpMM: .packed belongs to another topology; pack the values with this plan");
    fail(ErrorCode::format_mismatch, "cannot execute SpMM: .packed has {} set(s) of {}, and the plan reads {} of {}", packed.kind.sets,
         packed.kind.format(), wanted.sets, wanted.format());
  }
};

PlanStatePointer make_plan(const Planner& planner, const Spmm& problem, const Topology& topology, const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const Spmm& problem, const Topology& topology) { return rebind_operation(old, problem, topology); }

template Task rebuild<Spmm>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);

}  // namespace plan

template class Plan<Spmm>;

}  // namespace vostok
