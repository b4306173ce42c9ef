// Executes of every operation, recorded once and replayed: a CUDA graph on a GPU.
#include <doctest/doctest.h>

#include "device/devices.hpp"
#include "tune/attention_case.hpp"
#include "tune/conv_case.hpp"
#include "tune/sddmm_case.hpp"
#include "tune/softmax_case.hpp"
#include "tune/spmm_case.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 606;

/// Records one execute with the case's operands; every replay must compute the output anew.
template <class Problem>
void check_replays(const Context& context, const Plan<Problem>& plan,
                   tune::CaseOf<typename Problem::Arguments>& operands) {
  device::Device& device = test::device_of(context);
  const Workspace workspace = plan.make_workspace();
  operands.set_workspace(workspace);
  const auto recorded = device.record([&](Stream stream) { plan.execute(stream, operands.call()); });
  for (int replay = 0; replay < 2; ++replay) CHECK(operands.verify(test::replaying(device, *recorded)).wrong == "");
}

}  // namespace

TEST_CASE("a recorded execute of every operation replays") {
  MESSAGE("seed " << seed);
  const sparse::Csr csr = sparse::uniform(37, 50, 0.7, seed, 0.4);
  for (const std::string& name : test::device_names()) {
    CAPTURE(name);
    const Context context = test::memory_context(name);
    device::Device& device = test::device_of(context);
    const Topology mask = context.topology(csr.view());

    const Spmm spmm{.n = 24, .element = Dtype::f16, .sparse_transposed = true, .dense_layout = Layout::column_major};
    tune::SpmmCase spmm_case(device, spmm, csr, seed);
    check_replays(context, context.plan(spmm, mask), spmm_case);

    const Sddmm sddmm{.n = 40, .batch = 2, .rhs_layout = Layout::column_major};
    tune::SddmmCase sddmm_case(device, sddmm, csr, seed);
    check_replays(context, context.plan(sddmm, mask), sddmm_case);

    const Softmax softmax{.batch = 2, .statistics = RowStatistics::write};
    tune::SoftmaxCase softmax_case(device, softmax, csr, seed);
    check_replays(context, context.plan(softmax, mask), softmax_case);

    const SoftmaxBackward backward{.element = Dtype::bf16};
    tune::SoftmaxBackwardCase backward_case(device, backward, csr, seed);
    check_replays(context, context.plan(backward, mask), backward_case);

    const SparseAttention attention{.n = 16, .batch = 3, .element = Dtype::f16};
    const AttentionPlan attention_plan = context.plan(attention, mask);
    tune::AttentionCase attention_case(device, attention, csr, seed, attention_plan.saved_bytes());
    check_replays(context, attention_plan, attention_case);

    const DepthwiseConvolution depthwise{
        .channels = 5, .height = 9, .width = 12, .padding = {1, 1, 1, 1}, .bias = true};
    tune::DepthwiseCase depthwise_case(device, depthwise, seed);
    check_replays(context, context.plan(depthwise), depthwise_case);
  }
}
