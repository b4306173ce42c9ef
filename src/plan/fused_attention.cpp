#include "plan/fused_attention.hpp"

#include "plan/attention_operands.hpp"
#include "plan/operation.hpp"
#include "plan/rebuild.hpp"
#include "tune/attention_case.hpp"

namespace vostok {

namespace plan {

namespace {

/// Bytes that the forward pass saves, of all heads.
std::int64_t saved_bytes(const SparseAttention& attention, const TopologyStatistics& mask) {
  return AttentionSteps(attention, mask, attention.batch).saved_bytes();
}

}  // namespace

/// What both passes say alike.
template <class Fused>
struct FusedOperation {
  using State = PlanStateOf<Fused>;
  using Query = ops::AttentionQueryOf<Fused>;

  static void validate(const Fused& problem, const TopologyStatistics& mask) {
    validate_attention(Operation<Fused>::object, problem.attention, mask);
  }
  static bool transposed(const Fused&) { return false; }
  static std::int64_t size_of_call(const State& state, typename Fused::Arguments&) { return state.problem.attention.n; }
  static Scale scale(const Fused&) { return Scale::host; }
};

template <>
struct Operation<FusedAttention> : FusedOperation<FusedAttention> {
  static constexpr const char* object = "attention";

  static std::vector<ops::SizeRange> ranges(const FusedAttention& problem, const TopologyStatistics& mask) {
    if (problem.attention.batch == 0 || mask.rows == 0) return {};
    return {{.least = problem.attention.n, .most = problem.attention.n}};
  }
  static std::shared_ptr<ops::Query> query(const FusedAttention& problem, const TopologyStatistics& mask,
                                           const ops::SizeRange&, const device::Device* device) {
    return ops::make_query(problem.attention, mask, device);
  }
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask,
                                               std::uint64_t seed) {
    const SparseAttention& attention = static_cast<const ops::AttentionQuery&>(query).attention();
    const std::int64_t saved = saved_bytes(attention, query.statistics);
    return std::make_unique<tune::AttentionCase>(device, attention, std::move(mask), seed, saved);
  }

  static std::array<Operand, 7> operands(const FusedAttention& problem, const TopologyStatistics& mask, std::int64_t) {
    return attention_operands(problem.attention, mask);
  }
  static std::array<const void*, 7> pointers(const AttentionArguments& call) {
    return {call.query, call.key, call.value, call.bias, call.output, call.saved, call.dropout_state};
  }
};

template <>
struct Operation<FusedAttentionBackward> : FusedOperation<FusedAttentionBackward> {
  static constexpr const char* object = "attention's gradient";

  static std::vector<ops::SizeRange> ranges(const FusedAttentionBackward& problem, const TopologyStatistics& mask) {
    if (problem.attention.batch == 0 || (mask.rows == 0 && mask.cols == 0)) return {};
    return {{.least = problem.attention.n, .most = problem.attention.n}};
  }
  static std::shared_ptr<ops::Query> query(const FusedAttentionBackward& problem, const TopologyStatistics& mask,
                                           const ops::SizeRange&, const device::Device* device) {
    return ops::make_query(SparseAttentionBackward{.forward = problem.attention}, mask, device);
  }
  /// What was saved is not read.
  static std::unique_ptr<tune::Case> make_case(device::Device& device, const ops::Query& query, sparse::Csr mask,
                                               std::uint64_t seed) {
    const SparseAttention& attention = static_cast<const ops::AttentionBackwardQuery&>(query).attention();
    const std::int64_t saved = saved_bytes(attention, query.statistics);
    return std::make_unique<tune::AttentionBackwardCase>(device, SparseAttentionBackward{.forward = attention},
                                                         std::move(mask), seed, saved);
  }

  static std::array<Operand, 12> operands(const FusedAttentionBackward& problem, const TopologyStatistics& mask,
                                          std::int64_t) {
    return attention_backward_operands(problem.attention, mask);
  }
  static std::array<const void*, 12> pointers(const AttentionBackwardArguments& call) {
    return {call.query,           call.key,          call.value,          call.bias,         call.output,
            call.output_gradient, call.saved,        call.query_gradient, call.key_gradient, call.value_gradient,
            call.bias_gradient,   call.dropout_state};
  }
};

PlanStatePointer make_plan(const Planner& planner, const FusedAttention& problem, const Topology& mask,
                           const PlanOptions& options) {
  return plan_masked(planner, problem, mask, options);
}

PlanStatePointer make_plan(const Planner& planner, const FusedAttentionBackward& problem, const Topology& mask,
                           const PlanOptions& options) {
  return plan_masked(planner, problem, mask, options);
}

PlanStatePointer rebind_plan(const PlanState& old, const FusedAttention& problem, const Topology& mask) {
  return rebind_operation(old, problem, mask);
}

PlanStatePointer rebind_plan(const PlanState& old, const FusedAttentionBackward& problem, const Topology& mask) {
  return rebind_operation(old, problem, mask);
}

bool is_fused_family(const std::string& name) {
  return ops::find_family("attention", name) != nullptr || ops::find_family("attention_backward", name) != nullptr;
}

Expected expected(const Planner& planner, const FusedAttention& problem, const Topology& mask,
                  const PlanOptions& options) {
  return expected_of(planner, problem, mask, options);
}

Expected expected(const Planner& planner, const FusedAttentionBackward& problem, const Topology& mask,
                  const PlanOptions& options) {
  return expected_of(planner, problem, mask, options);
}

template Task rebuild<FusedAttentionBackward>(const Planner&, std::string_view, const TaskText&, const Topology&,
                                              std::uint64_t);
template Task rebuild<FusedAttention>(const Planner&, std::string_view, const TaskText&, const Topology&,
                                      std::uint64_t);

}  // namespace plan

template class Plan<FusedAttention>;
template class Plan<FusedAttentionBackward>;

}  // namespace vostok
