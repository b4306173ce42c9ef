// Plans: how they are made, and what they tell of themselves.
#include <type_traits>

#include "c/handles.hpp"
#include "c/options.hpp"
#include "c/problems.hpp"

namespace vostok::c {

namespace {

template <class Problem, class C>
vostok_status make_masked(const vostok_context* context, const vostok_topology* topology, const C* problem,
                          const vostok_plan_options* options, vostok_plan** plan) noexcept {
  return make_handle(plan, "plan", [&]() -> AnyOperation {
    return context_of(context).plan(problem_of<Problem>(problem), topology_of(topology), options_of(options));
  });
}

template <class Problem, class C>
vostok_status make_unmasked(const vostok_context* context, const C* problem, const vostok_plan_options* options,
                            vostok_plan** plan) noexcept {
  return make_handle(plan, "plan", [&]() -> AnyOperation {
    return context_of(context).plan(problem_of<Problem>(problem), options_of(options));
  });
}

/// The plan without its operation.
const AnyPlan& any_plan(const vostok_plan* plan) {
  return std::visit([](const auto& one) -> const AnyPlan& { return one; }, required(plan, "plan").value);
}

/// `ask(plan)` of the operations that can answer; `otherwise` of the rest.
template <class Value, class Ask>
Value asked(const vostok_plan* plan, Value otherwise, const Ask& ask) {
  return std::visit(
      [&](const auto& one) -> Value {
        if constexpr (std::is_invocable_v<Ask, decltype(one)>) return ask(one);
        else return otherwise;
      },
      required(plan, "plan").value);
}

template <class Problem>
AnyOperation rebound(const Plan<Problem>& plan, const Topology& topology) {
  if constexpr (Problem::masked) return plan.rebind(topology);
  else fail(ErrorCode::invalid_argument, "cannot rebind plan: its operation has no topology");
}

}  // namespace

}  // namespace vostok::c

using namespace vostok::c;

vostok_status vostok_plan_spmm(const vostok_context* context, const vostok_topology* topology,
                               const vostok_spmm* problem, const vostok_plan_options* options, vostok_plan** plan) {
  return make_masked<vostok::Spmm>(context, topology, problem, options, plan);
}

vostok_status vostok_plan_sddmm(const vostok_context* context, const vostok_topology* topology,
                                const vostok_sddmm* problem, const vostok_plan_options* options, vostok_plan** plan) {
  return make_masked<vostok::Sddmm>(context, topology, problem, options, plan);
}

vostok_status vostok_plan_softmax(const vostok_context* context, const vostok_topology* topology,
                                  const vostok_softmax* problem, const vostok_plan_options* options,
                                  vostok_plan** plan) {
  return make_masked<vostok::Softmax>(context, topology, problem, options, plan);
}

vostok_status vostok_plan_softmax_backward(const vostok_context* context, const vostok_topology* topology,
                                           const vostok_softmax_backward* problem, const vostok_plan_options* options,
                                           vostok_plan** plan) {
  return make_masked<vostok::SoftmaxBackward>(context, topology, problem, options, plan);
}

vostok_status vostok_plan_attention(const vostok_context* context, const vostok_topology* topology,
                                    const vostok_attention* problem, const vostok_plan_options* options,
                                    vostok_plan** plan) {
  return make_masked<vostok::SparseAttention>(context, topology, problem, options, plan);
}

vostok_status vostok_plan_attention_backward(const vostok_context* context, const vostok_topology* topology,
                                             const vostok_attention* forward, const vostok_plan_options* options,
                                             vostok_plan** plan) {
  return make_masked<vostok::SparseAttentionBackward>(context, topology, forward, options, plan);
}

vostok_status vostok_plan_depthwise(const vostok_context* context, const vostok_depthwise* problem,
                                    const vostok_plan_options* options, vostok_plan** plan) {
  return make_unmasked<vostok::DepthwiseConvolution>(context, problem, options, plan);
}

vostok_status vostok_plan_bias_activation(const vostok_context* context, const vostok_bias_activation* problem,
                                          const vostok_plan_options* options, vostok_plan** plan) {
  return make_unmasked<vostok::BiasActivation>(context, problem, options, plan);
}

vostok_status vostok_plan_im2col(const vostok_context* context, const vostok_im2col* problem,
                                 const vostok_plan_options* options, vostok_plan** plan) {
  return make_unmasked<vostok::Im2col>(context, problem, options, plan);
}

vostok_plan* vostok_plan_retain(vostok_plan* plan) { return retain(plan); }

void vostok_plan_release(vostok_plan* plan) { release(plan); }

std::int32_t vostok_plan_operation(const vostok_plan* plan) {
  return guarded_value(std::int32_t{-1},
                       [&] { return static_cast<std::int32_t>(required(plan, "plan").value.index()); });
}

std::int64_t vostok_plan_workspace_bytes(const vostok_plan* plan) {
  return guarded_value(std::int64_t{-1}, [&] { return any_plan(plan).workspace_bytes(); });
}

std::int64_t vostok_plan_saved_bytes(const vostok_plan* plan) {
  return guarded_value(std::int64_t{-1}, [&] {
    return asked(plan, std::int64_t{0},
                 [](const auto& one) -> decltype(one.saved_bytes()) { return one.saved_bytes(); });
  });
}

std::int64_t vostok_plan_packed_bytes(const vostok_plan* plan) {
  return guarded_value(std::int64_t{-1}, [&] {
    return asked(plan, std::int64_t{0},
                 [](const auto& one) -> decltype(one.packed_bytes()) { return one.packed_bytes(); });
  });
}

const char* vostok_plan_packed_format(const vostok_plan* plan) {
  return guarded_text([&] {
    return asked(plan, std::string(),
                 [](const auto& one) -> decltype(one.packed_format()) { return one.packed_format(); });
  });
}

std::int32_t vostok_plan_provenance(const vostok_plan* plan) {
  return guarded_value(std::int32_t{-1}, [&] { return static_cast<std::int32_t>(any_plan(plan).provenance()); });
}

const char* vostok_plan_family(const vostok_plan* plan) {
  return guarded_text([&] { return any_plan(plan).family(); });
}

const char* vostok_plan_config(const vostok_plan* plan) {
  return guarded_text([&] { return vostok::to_text(any_plan(plan).config()); });
}

const char* vostok_plan_explain(const vostok_plan* plan, std::int32_t detail) {
  return guarded_text([&] { return any_plan(plan).explain(static_cast<vostok::Detail>(detail)).text(); });
}

vostok_status vostok_plan_rebind(const vostok_plan* plan, const vostok_topology* topology, vostok_plan** rebound_plan) {
  return make_handle(rebound_plan, "rebound", [&] {
    const vostok::Topology& other = topology_of(topology);
    return std::visit([&](const auto& one) { return rebound(one, other); }, required(plan, "plan").value);
  });
}
