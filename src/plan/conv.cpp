// What sparse convolutional networks need beside SpMM, from problem to plan and through `execute`. There is no
// topology.
#include "ops/conv/problem.hpp"
#include "plan/make_plan.hpp"
#include "plan/operation.hpp"
#include "plan/rebuild.hpp"
#include "tune/conv_case.hpp"

namespace vostok {

namespace plan {

namespace {

std::int64_t images(const DepthwiseConvolution& problem) { return problem.batch * problem.channels; }
std::int64_t images(const Im2col& problem) { return problem.batch * problem.channels; }
std::int64_t images(const BiasActivation& problem) { return problem.batch * problem.rows * problem.columns; }

/// A bias of one value for each channel, row or column: f32 unless the problem names another type.
Operand bias_operand(bool asked, const std::optional<Dtype>& element, std::int64_t count) {
  const Dtype type = element.value_or(Dtype::f32);
  return {.name = "bias",
          .wanted = needed_if_asked(asked),
          .alignment_bytes = size_of(type),
          .region = array_region(count, type),
          .asked_by = "bias"};
}

/// Shared by the operations on dense images and matrices.
template <class Problem, class QueryType, class CaseType>
struct DenseOperation {
  using State = PlanStateOf<Problem>;
  using Query = QueryType;

  static void validate(const Problem& problem, const TopologyStatistics& statistics) {
    ops::validate(problem, statistics);
  }
  static bool transposed(const Problem&) { return false; }
  /// No n: one choice serves every call, if there is anything to compute.
  static std::vector<ops::SizeRange> ranges(const Problem& problem, const TopologyStatistics&) {
    return images(problem) > 0 ? std::vector<ops::SizeRange>{{0, 0}} : std::vector<ops::SizeRange>();
  }
  static std::shared_ptr<ops::Query> query(const Problem& problem, const TopologyStatistics& statistics,
                                           const ops::SizeRange& n, const device::Device* device) {
    return ops::make_query(problem, statistics, n, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, const sparse::Csr&,
                                               std::uint64_t seed) {
    return std::make_unique<CaseType>(device, static_cast<const QueryType&>(query).problem, seed);
  }
  static std::int64_t size_of_call(const State&, typename Problem::Arguments&) { return 0; }
};

/// Context::plan for an operation without a mask.
template <class Problem>
PlanStatePointer plan_dense(const Planner& planner, const Problem& problem, const PlanOptions& options) {
  planner.session()->require_no_capture(options.stream, fmt::format("plan {}", Operation<Problem>::object));
  return plan_operation(planner, problem, Topology(), options);
}

}  // namespace

template <>
struct Operation<DepthwiseConvolution>
    : DenseOperation<DepthwiseConvolution, ops::DepthwiseQuery, tune::DepthwiseCase> {
  static constexpr const char* object = "depthwise convolution";

  static std::array<Operand, 4> operands(const DepthwiseConvolution& problem, const TopologyStatistics&, std::int64_t) {
    const Alignment alignment = declared(problem.alignment_bytes, problem.element);
    const std::int64_t taps = std::int64_t{problem.kernel} * problem.kernel;
    return {
        {{"input", Wanted::needed, alignment,
          array_region(images(problem) * problem.height * problem.width, problem.element)},
         {"filters", Wanted::needed, alignment, array_region(problem.channels * taps, problem.element)},
         bias_operand(problem.bias, problem.bias_element, problem.channels),
         {.name = "output",
          .wanted = Wanted::needed,
          .alignment_bytes = alignment,
          .region = array_region(images(problem) * problem.output_height() * problem.output_width(), problem.element),
          .written = true}}};
  }
  static std::array<const void*, 4> pointers(const DepthwiseArguments& call) {
    return {call.input, call.filters, call.bias, call.output};
  }
};

template <>
struct Operation<BiasActivation> : DenseOperation<BiasActivation, ops::BiasActivationQuery, tune::BiasActivationCase> {
  static constexpr const char* object = "bias and activation";

  static std::array<Operand, 3> operands(const BiasActivation& problem, const TopologyStatistics&, std::int64_t) {
    const Alignment alignment = declared(problem.alignment_bytes, problem.element);
    const Region matrices = array_region(images(problem), problem.element);
    return {{{"input", Wanted::needed, alignment, matrices},
             bias_operand(problem.bias != Bias::none, problem.bias_element,
                          problem.bias == Bias::per_row ? problem.rows : problem.columns),
             {.name = "output",
              .wanted = Wanted::needed,
              .alignment_bytes = alignment,
              .region = matrices,
              .written = true,
              .in_place_of = 0}}};
  }
  static std::array<const void*, 3> pointers(const BiasActivationArguments& call) {
    return {call.input, call.bias, call.output};
  }
};

template <>
struct Operation<Im2col> : DenseOperation<Im2col, ops::Im2colQuery, tune::Im2colCase> {
  static constexpr const char* object = "im2col";

  static std::array<Operand, 2> operands(const Im2col& problem, const TopologyStatistics&, std::int64_t) {
    const Alignment alignment = declared(problem.alignment_bytes, problem.element);
    const std::int64_t taps = std::int64_t{problem.kernel_height} * problem.kernel_width;
    const std::int64_t patches = problem.output_height() * problem.output_width();
    return {{{"input", Wanted::needed, alignment,
              array_region(images(problem) * problem.height * problem.width, problem.element)},
             {.name = "output",
              .wanted = Wanted::needed,
              .alignment_bytes = alignment,
              .region = array_region(images(problem) * taps * patches, problem.element),
              .written = true}}};
  }
  static std::array<const void*, 2> pointers(const Im2colArguments& call) { return {call.input, call.output}; }
};

PlanStatePointer make_plan(const Planner& planner, const DepthwiseConvolution& problem, const PlanOptions& options) {
  return plan_dense(planner, problem, options);
}

PlanStatePointer make_plan(const Planner& planner, const BiasActivation& problem, const PlanOptions& options) {
  return plan_dense(planner, problem, options);
}

PlanStatePointer make_plan(const Planner& planner, const Im2col& problem, const PlanOptions& options) {
  return plan_dense(planner, problem, options);
}

template Task rebuild<DepthwiseConvolution>(const Planner&, std::string_view, const TaskText&, const Topology&,
                                            std::uint64_t);
template Task rebuild<BiasActivation>(const Planner&, std::string_view, const TaskText&, const Topology&,
                                      std::uint64_t);
template Task rebuild<Im2col>(const Planner&, std::string_view, const TaskText&, const Topology&, std::uint64_t);

}  // namespace plan

template class Plan<DepthwiseConvolution>;
template class Plan<BiasActivation>;
template class Plan<Im2col>;

}  // namespace vostok
