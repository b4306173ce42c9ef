// SpMM from problem to plan and through `execute`.
#include <algorithm>

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

  static void validate(const Spmm& problem, const TopologyStatistics& statistics) {
    ops::validate(problem, statistics);
  }
  static bool transposed(const Spmm& problem) { return problem.sparse_transposed; }
  static std::vector<ops::SizeRange> ranges(const Spmm& problem, const TopologyStatistics& statistics) {
    return statistics.rows == 0 || problem.batch == 0 ? std::vector<ops::SizeRange>() : ops::size_ranges(problem);
  }
  static std::shared_ptr<ops::Query> query(const Spmm& problem, const TopologyStatistics& statistics,
                                           const ops::SizeRange& n, const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr matrix,
                                               std::uint64_t seed) {
    return std::make_unique<tune::SpmmCase>(device, static_cast<const ops::SpmmQuery&>(query).problem,
                                            std::move(matrix), seed);
  }

  static std::int64_t size_of_call(const State& state, SpmmArguments& arguments) {
    const Spmm& problem = state.problem;
    if (problem.n_values.empty()) {
      if (arguments.n != 0 && arguments.n != problem.n)
        fail(ErrorCode::invalid_argument, "cannot execute SpMM: .n = {}, and the plan was made for n = {}", arguments.n,
             problem.n);
      arguments.n = problem.n;
    } else {
      // The last choice serves the largest; without choices there is nothing to serve fast.
      const std::int64_t most = state.choices.empty() ? ops::largest_size(problem) : state.choices.back().query->n.most;
      if (arguments.n < 0 || arguments.n > most)
        fail(ErrorCode::invalid_argument, "cannot execute SpMM: .n = {}, and the plan serves 0 to {}", arguments.n,
             most);
    }
    return arguments.n;
  }

  static std::array<Operand, 6> operands(const Spmm& problem, const TopologyStatistics& statistics, std::int64_t n) {
    const bool multiplies = statistics.nonzeros > 0;
    const bool packs = problem.value_lifetime == ValueLifetime::persistent;
    const Epilogue& epilogue = problem.epilogue;
    const Dtype output = problem.output.value_or(problem.element);
    const Alignment in = declared(problem.alignment_bytes, problem.element);
    const Alignment out = declared(problem.alignment_bytes, output);
    const bool transposed = problem.sparse_transposed;
    const std::int64_t rows = transposed ? statistics.cols : statistics.rows;
    const std::int64_t inner = transposed ? statistics.rows : statistics.cols;
    const auto dense = ops::stored_matrix(problem.dense_layout, inner, n, problem.dense_leading, problem.dense_stride);
    const auto product =
        ops::stored_matrix(problem.output_layout, rows, n, problem.output_leading, problem.output_stride);
    const Region values = array_region(statistics.nonzeros, problem.element,
                                       problem.values_per_batch ? problem.batch : 1, problem.value_stride);
    const Region stored = matrix_region(product, output, problem.batch);
    const Dtype bias_type = epilogue.bias_element.value_or(Dtype::f32);
    const std::int64_t biases = epilogue.bias == Bias::per_row ? rows : n;
    return {{{"values", needed_if(multiplies && !packs), in, packs ? Region{} : values},
             {"dense", needed_if(multiplies), in, matrix_region(dense, problem.element, problem.batch)},
             {.name = "output", .wanted = Wanted::needed, .alignment_bytes = out, .region = stored, .written = true},
             {.name = "bias",
              .wanted = needed_if_asked(epilogue.bias != Bias::none),
              .alignment_bytes = declared(problem.alignment_bytes, bias_type),
              .region = array_region(biases, bias_type),
              .asked_by = "epilogue.bias"},
             {.name = "residual",
              .wanted = needed_if_asked(epilogue.residual),
              .alignment_bytes = out,
              .region = stored,
              .asked_by = "epilogue.residual"},
             device_scale_operand(epilogue.scale, "epilogue.scale = device")}};
  }
  static std::array<const void*, 6> pointers(const SpmmArguments& call) {
    return {call.values, call.dense, call.output, call.bias, call.residual, call.device_scale};
  }
  static Scale scale(const Spmm& problem) { return problem.epilogue.scale; }

  static std::optional<TaskPacking> packing(const Spmm& problem, const std::shared_ptr<const ops::Query>& query) {
    if (problem.value_lifetime != ValueLifetime::persistent) return std::nullopt;
    const auto& spmm = static_cast<const ops::SpmmQuery&>(*query);
    const auto restricted = [query](const std::string& format) {
      auto narrower = std::make_shared<ops::SpmmQuery>(static_cast<const ops::SpmmQuery&>(*query));
      narrower->packed_format = format;
      narrower->add_to_keys(fmt::format(" packed_format={}", format));
      return narrower;
    };
    const auto family_format = [query, &spmm](const std::string& format) -> std::optional<std::string> {
      const auto kind = PackedKind::parse(format);
      if (!kind || (kind->packing != nullptr ? kind->transposed != spmm.problem.sparse_transposed
                                             : kind->element != spmm.problem.element))
        return std::nullopt;
      return kind->packing != nullptr ? kind->packing->name() : std::string();
    };
    const auto pack = [query, &spmm](const Topology& of, const std::string& format, const void* values) {
      return plan::pack(of, packed_kind(spmm, format),
                        {.values = values, .element = spmm.problem.element, .stride = spmm.value_stride()}, nullptr);
    };
    const auto kernel = [query, &spmm](const std::string& format) {
      return packing_kernel(packed_kind(spmm, format), spmm.problem.element);
    };
    return TaskPacking{.restricted = restricted, .family_format = family_format, .pack = pack, .kernel = kernel};
  }

  static void finish(State& state) {
    const Spmm& problem = state.problem;
    if (problem.value_lifetime != ValueLifetime::persistent) return;
    const Choice* choice = state.main_choice();
    // All choices read one format. Without a choice no packed value is read; an empty batch has no sets.
    if (choice == nullptr)
      state.packed =
          PackedKind{.element = problem.element, .sets = problem.batch == 0 && problem.values_per_batch ? 0 : 1};
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
    if (packed->topology.state() != state.topology.state() || packed->kind != *state.packed)
      fail_packed(*packed, *state.packed);
    packed->note_use(stream);
    call.values = packed->memory();  // of families that read CSR values
  }

  static PackedValues pack(const State& state, Stream stream, const void* values, const PackedMemory* memory) {
    const Spmm& problem = state.problem;
    state.session->require_no_capture(stream, "pack values");
    if (!state.packed)
      fail(ErrorCode::invalid_argument,
           "cannot pack values: the plan's value_lifetime is per_call; plan with persistent");
    const Wanted wanted = needed_if(state.topology.nonzeros() > 0 && state.packed->sets > 0);
    const Operand operand{.name = "values",
                          .wanted = wanted,
                          .alignment_bytes = declared(problem.alignment_bytes, problem.element),
                          .region = {}};
    require_pointers(object, {&operand, 1}, {&values, 1});
    const PackSource source{.values = values,
                            .element = problem.element,
                            .stride = problem.value_stride != 0 ? problem.value_stride : state.topology.nonzeros()};
    if (memory != nullptr) require_apart_from(*memory, state.topology, *state.packed, source);
    return plan::pack(state.topology, *state.packed, source, stream, memory);
  }

 private:
  static void require_apart_from(const PackedMemory& memory, const Topology& topology, const PackedKind& kind,
                                 const PackSource& source) {
    const std::int64_t elements = (std::max<std::int64_t>(kind.sets, 1) - 1) * source.stride + topology.nonzeros();
    const AddressRange values(source.values, elements * size_of(source.element));
    if (values.meets({memory.data, packed_bytes(topology, kind)}))
      fail(ErrorCode::invalid_argument, "cannot pack values: the memory shares bytes with the values");
  }

  [[noreturn]] static void fail_lifetime(const char* given, const char* wanted) {
    fail(ErrorCode::invalid_argument, "cannot execute SpMM: .{} is given, and a plan of this value_lifetime takes .{}",
         given, wanted);
  }

  [[noreturn]] static void fail_packed(const PackedState& packed, const PackedKind& wanted) {
    if (packed.kind == wanted)
      fail(ErrorCode::format_mismatch,
           "cannot execute SpMM: .packed belongs to another topology; pack the values with this plan");
    fail(ErrorCode::format_mismatch, "cannot execute SpMM: .packed has {} set(s) of {}, and the plan reads {} of {}",
         packed.kind.sets, packed.kind.format(), wanted.sets, wanted.format());
  }
};

PlanStatePointer make_plan(const Planner& planner, const Spmm& problem, const Topology& topology,
                           const PlanOptions& options) {
  return plan_masked(planner, problem, topology, options);
}

Expected expected(const Planner& planner, const Spmm& problem, const Topology& topology, const PlanOptions& options) {
  return expected_of(planner, problem, topology, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const Spmm& problem, const Topology& topology) {
  return rebind_operation(old, problem, topology);
}

template Task rebuild<Spmm>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);

}  // namespace plan

template class Plan<Spmm>;

}  // namespace vostok
