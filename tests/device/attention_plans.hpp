// Plans of attention, forward and backward, verified on random operands.
#pragma once

#include <doctest/doctest.h>

#include "device/devices.hpp"
#include "device/fused_attention_harness.hpp"
#include "tune/attention_case.hpp"

namespace vostok::test {

/// Verifies one plan on operands of its own.
inline tune::Check verify(const Context& context, const AttentionPlan& plan, const sparse::Csr& mask) {
  tune::AttentionCase operands(device_of(context), plan.problem(), mask, 5, plan.saved_bytes());
  const Workspace workspace = plan.make_workspace();
  operands.set_workspace(workspace);
  return operands.verify([&](Stream stream) { plan.execute(stream, operands.call()); });
}

/// The same of a gradient, behind the forward pass that saves what it reads.
inline tune::Check verify(const Context& context, const AttentionPlan& forward, const AttentionBackwardPlan& backward,
                          const sparse::Csr& mask) {
  device::Device& device = device_of(context);
  tune::AttentionBackwardCase operands(device, backward.problem(), mask, 6, forward.saved_bytes());
  const Workspace forward_workspace = forward.make_workspace();
  AttentionArguments call = operands.forward_call();
  call.workspace = forward_workspace;
  forward.execute(device.own_stream(), call);
  device.synchronize(device.own_stream());
  const Workspace workspace = backward.make_workspace();
  operands.set_workspace(workspace);
  return operands.verify([&](Stream stream) { backward.execute(stream, operands.call()); });
}

/// Options of a plan that runs step by step, whatever one kernel would take.
inline const PlanOptions step_by_step{.family = "composed"};

/// `options`: of the forward pass, and of the gradients where they are given twice.
inline void check_both(const Context& context, const SparseAttention& problem, const sparse::Csr& mask,
                       const PlanOptions& options = {}, const PlanOptions& backward_options = {}) {
  CAPTURE(name(problem.element));
  CAPTURE(name(problem.saved));
  const Topology topology = context.topology(mask.view());
  const AttentionPlan forward = context.plan(problem, topology, options);
  const tune::Check output = verify(context, forward, mask);
  CAPTURE(output.error);
  CAPTURE(output.tolerance);
  CHECK_MESSAGE(output.wrong.empty(), output.wrong);
  const AttentionBackwardPlan backward =
      context.plan(SparseAttentionBackward{.forward = problem}, topology, backward_options);
  const tune::Check gradients = verify(context, forward, backward, mask);
  CAPTURE(gradients.error);
  CAPTURE(gradients.tolerance);
  CHECK_MESSAGE(gradients.wrong.empty(), gradients.wrong);
}

}  // namespace vostok::test
