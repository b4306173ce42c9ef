// Attention's forward pass: one kernel, or scores, softmax and product, whichever is expected to take less.
#include "plan/attention_operands.hpp"
#include "plan/attention_ways.hpp"

namespace vostok {

namespace plan {

namespace {

struct AttentionState;

}  // namespace

template <>
struct Operation<SparseAttention> {
  static constexpr const char* object = "attention";
  using Composed = AttentionState;
};

namespace {

struct AttentionState final : AttentionParts<SparseAttention> {
  using Fused = FusedAttention;
  static constexpr std::string_view operation = "attention";

  Plan<Fused> fused;  ///< in place of the three below, or empty
  SddmmPlan scores;
  SoftmaxPlan probabilities;
  SpmmPlan product;
  std::int64_t scores_at = 0;         ///< in the workspace
  std::int64_t probabilities_at = 0;  ///< in the workspace, where they are not saved
  std::int64_t step_at = 0;           ///< the steps' own workspace

  std::vector<const AnyPlan*> steps() const override {
    if (fused) return {&fused};
    return {&scores, &probabilities, &product};
  }
  Explanation explain(Detail detail) const override {
    return fused ? with_heads(fused.explain(detail)) : AttentionParts<SparseAttention>::explain(detail);
  }
  bool saves_probabilities() const { return problem.saved == Saved::probabilities; }
  /// Whether the probabilities replace the scores in place, which are f32.
  bool in_place() const { return problem.element == Dtype::f32; }

  /// visit(pointer to the step's plan, its problem) in the order of execution.
  template <class Visit>
  void each_step(const AttentionSteps& of, const Visit& visit) const {
    visit(&AttentionState::scores, of.scores());
    visit(&AttentionState::probabilities,
          of.probabilities(problem.saved == Saved::row_statistics ? RowStatistics::write : RowStatistics::none));
    visit(&AttentionState::product, of.product());
  }

  void carve(const AttentionSteps& of) {
    Carving carving;
    if (!fused) {
      if (!saves_probabilities() || !in_place()) scores_at = carving.take(of.bytes(Dtype::f32));
      probabilities_at = saves_probabilities() || in_place() ? scores_at : carving.take(of.bytes(problem.element));
    }
    step_at = carving.take(step_workspace_bytes());
    workspace_bytes = carving.bytes();
    saved_bytes = of.saved_bytes();
    note_heads(of);
    const auto list = attention_operands(problem, topology.statistics());
    operands.assign(list.begin(), list.end());
  }

  void execute(Stream stream, const AttentionArguments& arguments) const {
    const std::array<const void*, 7> pointers{arguments.query,  arguments.key,   arguments.value,        arguments.bias,
                                              arguments.output, arguments.saved, arguments.dropout_state};
    require_call(Operation<SparseAttention>::object, pointers, arguments.workspace);
    require_softcap(Operation<SparseAttention>::object, problem, arguments.softcap);
    require_dropout(Operation<SparseAttention>::object, problem, arguments.dropout);
    for (std::int64_t head = 0; head < problem.batch; head += heads) execute_some(stream, from_head(arguments, head));
  }

  /// Shifts the arguments to start at this head.
  AttentionArguments from_head(AttentionArguments arguments, std::int64_t head) const {
    arguments.query = of_head(arguments.query, head, strides.query);
    arguments.key = of_head(arguments.key, head / sharing, strides.key);
    arguments.value = of_head(arguments.value, head / sharing, strides.value);
    arguments.output = of_head(arguments.output, head, strides.output);
    arguments.saved = of_head(arguments.saved, head, strides.saved);
    return arguments;
  }

  /// Computes the first group of heads of these arguments.
  void execute_some(Stream stream, const AttentionArguments& arguments) const {
    if (fused) return fused.execute(stream, arguments);
    void* const own = part(arguments.workspace, step_at);
    void* const p = saves_probabilities() ? arguments.saved : part(arguments.workspace, probabilities_at);
    void* const s = in_place() ? p : part(arguments.workspace, scores_at);
    scores.execute(stream, {.lhs = arguments.query, .rhs = arguments.key, .output = s, .workspace = own});
    probabilities.execute(
        stream,
        {.values = s,
         .output = p,
         .row_statistics = problem.saved == Saved::row_statistics ? static_cast<float*>(arguments.saved) : nullptr,
         .scale = ops::attention_scale(problem.n, arguments.scale),
         .workspace = own});
    product.execute(stream, {.values = p, .dense = arguments.value, .output = arguments.output, .workspace = own});
  }

  std::shared_ptr<const PlanState> rebind(const Topology& mask) const { return rebind_attention(*this, mask); }

  static const SparseAttention& forward_of(const SparseAttention& problem) { return problem; }
  static const SparseAttention& forward_of(SparseAttention&&) = delete;
};

}  // namespace

std::shared_ptr<const PlanState> make_plan(const Planner& planner, const SparseAttention& problem, const Topology& mask,
                                           const PlanOptions& options) {
  const char* object = Operation<SparseAttention>::object;
  planner.require_usable(mask, options.stream, fmt::format("plan {}", object));
  validate_attention(object, problem, mask.statistics());
  return plan_attention<AttentionState>(planner, problem, mask, options);
}

}  // namespace plan

template class Plan<SparseAttention>;

}  // namespace vostok
