// The gradients of attention: by kernels that make scores once more, or composed. Then the probabilities come from the
// forward pass or are recomputed, and one product or sampled product makes each gradient.
#include "plan/attention_operands.hpp"
#include "plan/attention_ways.hpp"

namespace vostok {

namespace plan {

namespace {

struct BackwardState;

}  // namespace

template <>
struct Operation<SparseAttentionBackward> {
  static constexpr const char* object = "attention's gradient";
  using Composed = BackwardState;
};

namespace {

struct BackwardState final : AttentionParts<SparseAttentionBackward> {
  using Fused = FusedAttentionBackward;
  static constexpr std::string_view operation = "attention_backward";

  Plan<Fused> fused;          ///< in place of all below, or empty
  SddmmPlan scores;           ///< empty where the probabilities were saved
  SoftmaxPlan probabilities;  ///< empty if the probabilities were saved
  SpmmPlan value_gradient;
  SddmmPlan probability_gradient;
  SoftmaxBackwardPlan score_gradient;
  SpmmPlan query_gradient;
  SpmmPlan key_gradient;
  SpmmPlan more_value_gradient;  ///< adds to what heads before left that share keys; empty if no heads do
  SpmmPlan more_key_gradient;
  std::int64_t scores_at = 0;
  std::int64_t probabilities_at = 0;
  std::int64_t gradient_at = 0;  ///< gradient of the probabilities; becomes that of the scores in place
  std::int64_t step_at = 0;

  const SparseAttention& forward() const { return problem.forward; }
  bool shares_keys() const { return ops::group_of(forward()) > 1; }
  bool recomputes() const { return forward().saved != Saved::probabilities; }

  std::vector<const AnyPlan*> steps() const override {
    if (fused) return {&fused};
    std::vector<const AnyPlan*> list;
    if (recomputes()) list = {&scores, &probabilities};
    list.insert(list.end(), {&value_gradient, &probability_gradient, &score_gradient, &query_gradient, &key_gradient});
    if (shares_keys()) list.insert(list.end(), {&more_value_gradient, &more_key_gradient});
    return list;
  }

  Explanation explain(Detail detail) const override {
    return fused ? with_heads(fused.explain(detail)) : AttentionParts<SparseAttentionBackward>::explain(detail);
  }

  /// visit(pointer to the step's plan, its problem) in the order of execution.
  template <class Visit>
  void each_step(const AttentionSteps& of, const Visit& visit) const {
    if (recomputes()) {
      visit(&BackwardState::scores, of.scores());
      visit(&BackwardState::probabilities,
            of.probabilities(forward().saved == Saved::row_statistics ? RowStatistics::read : RowStatistics::none));
    }
    visit(&BackwardState::value_gradient, of.value_gradient());
    visit(&BackwardState::probability_gradient, of.probability_gradient());
    visit(&BackwardState::score_gradient, of.score_gradient());
    visit(&BackwardState::query_gradient, of.query_gradient());
    visit(&BackwardState::key_gradient, of.key_gradient());
    if (!shares_keys()) return;
    constexpr bool adds = true;
    visit(&BackwardState::more_value_gradient, of.value_gradient(adds));
    visit(&BackwardState::more_key_gradient, of.key_gradient(adds));
  }

  void carve(const AttentionSteps& of) {
    Carving carving;
    const bool in_place = forward().element == Dtype::f32;
    if (recomputes() && !fused) {
      scores_at = carving.take(of.bytes(Dtype::f32));
      probabilities_at = in_place ? scores_at : carving.take(of.bytes(forward().element));
    }
    if (!fused) gradient_at = carving.take(of.bytes(forward().element));
    step_at = carving.take(step_workspace_bytes());
    workspace_bytes = carving.bytes();
    saved_bytes = of.saved_bytes();
    note_heads(of);
    const auto list = attention_backward_operands(forward(), topology.statistics());
    operands.assign(list.begin(), list.end());
  }

  void require_arguments(const AttentionBackwardArguments& arguments) const {
    const std::array<const void*, 12> pointers{arguments.query,         arguments.key,
                                               arguments.value,         arguments.bias,
                                               arguments.output,        arguments.output_gradient,
                                               arguments.saved,         arguments.query_gradient,
                                               arguments.key_gradient,  arguments.value_gradient,
                                               arguments.bias_gradient, arguments.dropout_state};
    require_call(Operation<SparseAttentionBackward>::object, pointers, arguments.workspace);
  }

  /// The probabilities of the forward pass, saved or recomputed in the stream's order.
  const void* find_probabilities(Stream stream, const AttentionBackwardArguments& arguments, float scale) const {
    if (!recomputes()) return arguments.saved;
    void* const own = part(arguments.workspace, step_at);
    void* const s = part(arguments.workspace, scores_at);
    void* const p = part(arguments.workspace, probabilities_at);
    scores.execute(stream, {.lhs = arguments.query, .rhs = arguments.key, .output = s, .workspace = own});
    // A softmax that reads row statistics does not write them; the argument is mutable for problems that write.
    auto* const statistics = forward().saved == Saved::row_statistics
                                 ? static_cast<float*>(const_cast<void*>(arguments.saved))
                                 : nullptr;  // NOLINT
    probabilities.execute(stream,
                          {.values = s, .output = p, .row_statistics = statistics, .scale = scale, .workspace = own});
    return p;
  }

  void execute(Stream stream, const AttentionBackwardArguments& arguments) const {
    require_arguments(arguments);
    require_softcap(Operation<SparseAttentionBackward>::object, forward(), arguments.softcap);
    require_dropout(Operation<SparseAttentionBackward>::object, forward(), arguments.dropout);
    for (std::int64_t head = 0; head < forward().batch; head += heads)
      execute_some(stream, from_head(arguments, head), head % sharing != 0);
  }

  /// Shifts the arguments to start at this head.
  AttentionBackwardArguments from_head(AttentionBackwardArguments arguments, std::int64_t head) const {
    arguments.query = of_head(arguments.query, head, strides.query);
    arguments.key = of_head(arguments.key, head / sharing, strides.key);
    arguments.value = of_head(arguments.value, head / sharing, strides.value);
    arguments.output = of_head(arguments.output, head, strides.output);
    arguments.output_gradient = of_head(arguments.output_gradient, head, strides.output);
    arguments.saved = of_head(arguments.saved, head, strides.saved);
    arguments.query_gradient = of_head(arguments.query_gradient, head, strides.query);
    arguments.key_gradient = of_head(arguments.key_gradient, head / sharing, strides.key);
    arguments.value_gradient = of_head(arguments.value_gradient, head / sharing, strides.value);
    return arguments;
  }

  /// Computes the first group of heads of these arguments. `adds`: to gradients by keys and values that are there.
  void execute_some(Stream stream, const AttentionBackwardArguments& arguments, bool adds) const {
    if (fused) return fused.execute(stream, arguments);
    const float scale = ops::attention_scale(forward().n, arguments.scale);
    void* const own = part(arguments.workspace, step_at);
    void* const gradient = part(arguments.workspace, gradient_at);
    const void* const p = find_probabilities(stream, arguments, scale);
    (adds ? more_value_gradient : value_gradient)
        .execute(
            stream,
            {.values = p, .dense = arguments.output_gradient, .output = arguments.value_gradient, .workspace = own});
    probability_gradient.execute(
        stream, {.lhs = arguments.output_gradient, .rhs = arguments.value, .output = gradient, .workspace = own});
    score_gradient.execute(stream, {.probabilities = p,
                                    .output_gradient = gradient,
                                    .input_gradient = gradient,
                                    .scale = scale,
                                    .workspace = own});
    query_gradient.execute(
        stream, {.values = gradient, .dense = arguments.key, .output = arguments.query_gradient, .workspace = own});
    (adds ? more_key_gradient : key_gradient)
        .execute(stream,
                 {.values = gradient, .dense = arguments.query, .output = arguments.key_gradient, .workspace = own});
  }

  std::shared_ptr<const PlanState> rebind(const Topology& mask) const { return rebind_attention(*this, mask); }

  static const SparseAttention& forward_of(const SparseAttentionBackward& problem) { return problem.forward; }
};

}  // namespace

std::shared_ptr<const PlanState> make_plan(const Planner& planner, const SparseAttentionBackward& problem,
                                           const Topology& mask, const PlanOptions& options) {
  const char* object = Operation<SparseAttentionBackward>::object;
  planner.require_usable(mask, options.stream, fmt::format("plan {}", object));
  validate_attention(object, problem.forward, mask.statistics());
  return plan_attention<BackwardState>(planner, problem, mask, options);
}

}  // namespace plan

template class Plan<SparseAttentionBackward>;

}  // namespace vostok
