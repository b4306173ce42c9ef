// Nothing to do: sizes of zero are legal in every operation and tool, and need no memory.
#include <doctest/doctest.h>

#include <cmath>

#include <vostok/tools.hpp>

#include "device/devices.hpp"

using namespace vostok;
using test::on_every_device;

namespace {

sparse::Csr some() { return sparse::uniform(24, 40, 0.5, 3); }
sparse::Csr without_nonzeros() { return {.rows = 3, .cols = 4, .row_offsets = {0, 0, 0, 0}}; }
sparse::Csr without_rows() { return {.rows = 0, .cols = 4, .row_offsets = {0}}; }
sparse::Csr without_columns() { return {.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}}; }

/// Plans and executes with null pointers: there is no choice to make, and nothing to run.
template <class Problem, class... Topologies>
void idle(const Context& context, const Problem& problem, const Topologies&... topology) {
  context.plan(problem, topology...);  // the topology's transpose is counted where it is walked
  const std::int64_t compiled = context.counters().kernels_compiled;
  const Plan<Problem> plan = context.plan(problem, topology...);
  CHECK(plan.workspace_bytes() == 0);
  plan.execute(nullptr, {});
  if constexpr (Problem::masked) plan.rebind(topology...).execute(nullptr, {});
  CHECK(plan.explain().trials.empty());
  CHECK(context.counters().kernels_compiled == compiled);
}

}  // namespace

TEST_CASE("an empty batch is nothing to do in every operation") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(some().view());
    idle(context, Spmm{.n = 8, .batch = 0}, topology);
    idle(context, Spmm{.n = 8, .batch = 0, .values_per_batch = true, .sparse_transposed = true}, topology);
    idle(context,
         Spmm{.n = 8, .batch = 0, .epilogue = {.bias = Bias::per_row, .residual = true, .scale = Scale::device}},
         topology);
    idle(context, Spmm{.n_values = {8, 16}, .batch = 0}, topology);
    idle(context, Sddmm{.n = 8, .batch = 0, .multiply = true}, topology);
    idle(context, Softmax{.batch = 0}, topology);
    idle(context, Softmax{.batch = 0, .statistics = RowStatistics::write}, topology);
    idle(context, SoftmaxBackward{.batch = 0}, topology);
    for (const Saved saved : {Saved::none, Saved::probabilities, Saved::row_statistics}) {
      const SparseAttention attention{.n = 8, .batch = 0, .saved = saved};
      idle(context, attention, topology);
      idle(context, SparseAttentionBackward{.forward = attention}, topology);
    }
    idle(context, DepthwiseConvolution{.batch = 0, .channels = 3, .height = 8, .width = 8});
    idle(context, BiasActivation{.batch = 0, .rows = 3, .columns = 4});
    idle(context, Im2col{.batch = 0, .channels = 3, .height = 8, .width = 8});
  });
}

TEST_CASE("n = 0 is nothing to do, also at a call of a plan for several n") {
  on_every_device([](const Context& context) {
    const Topology topology = context.topology(some().view());
    idle(context, Spmm{.n = 0}, topology);
    idle(context, Spmm{.n = 0, .batch = 3, .values_per_batch = true}, topology);
    idle(context, Spmm{.n_values = {0}}, topology);
    idle(context, SparseAttention{.n = 0, .batch = 0}, topology);

    const SpmmPlan several = context.plan(Spmm{.n_values = {0, 4, 8}}, topology);
    several.execute(nullptr, {.n = 0});
    several.execute(nullptr, {});
    CHECK(test::code_of([&] { several.execute(nullptr, {.n = 1}); }) ==
          ErrorCode::invalid_argument);  // .values is null
  });
}

TEST_CASE("what has no elements is nothing to do, whichever size is zero") {
  on_every_device([](const Context& context) {
    for (const sparse::Csr& csr : {without_nonzeros(), without_rows()}) {
      const Topology topology = context.topology(csr.view());
      idle(context, Sddmm{.n = 8}, topology);
      idle(context, Softmax{}, topology);
      idle(context, SoftmaxBackward{}, topology);
    }
    const Topology rowless = context.topology(without_rows().view());
    idle(context, Spmm{.n = 8}, rowless);
    idle(context, SparseAttention{.n = 8}, rowless);
    idle(context, DepthwiseConvolution{.channels = 0, .height = 8, .width = 8});
    idle(context, BiasActivation{.rows = 0, .columns = 4});
    idle(context, BiasActivation{.rows = 4, .columns = 0});
    idle(context, Im2col{.channels = 0, .height = 8, .width = 8});
  });
}

TEST_CASE("attention without sizes gives every key the same weight, and its scale is one") {
  on_every_device([](const Context& context) {
    const sparse::Csr csr{.rows = 2, .cols = 3, .row_offsets = {0, 2, 3}, .column_indices = {0, 2, 1}};
    const AttentionPlan plan =
        context.plan(SparseAttention{.n = 0, .value_size = 1, .alignment_bytes = 4}, context.topology(csr.view()));
    const test::Floats value(test::device_of(context), {1.0F, 5.0F, 3.0F});
    const test::Floats output(test::device_of(context), std::vector<float>(2, NAN));
    const Workspace workspace = plan.make_workspace();
    plan.execute(nullptr, {.value = value.data(), .output = output.data(), .workspace = workspace});
    test::device_of(context).synchronize(nullptr);
    CHECK(output.read() == std::vector<float>{2, 5});
  });
}

TEST_CASE("the tools take matrices without rows, columns or nonzeros, and no memory for them") {
  on_every_device([](const Context& context) {
    for (const sparse::Csr& csr : {without_nonzeros(), without_rows(), without_columns()}) {
      CAPTURE(csr.rows);
      CAPTURE(csr.cols);
      const Topology topology = context.topology(csr.view());
      CHECK(transpose(topology).topology.rows() == csr.cols);
      CHECK(sort_columns(topology).topology.rows() == csr.rows);
      linear_indices(topology, static_cast<std::int32_t*>(nullptr));
      linear_indices(topology, static_cast<std::int64_t*>(nullptr));
      if (csr.rows == 0 || csr.cols == 0) to_dense(topology, nullptr, {});
      const DenseView dense{.rows = csr.rows, .cols = csr.cols};
      if (csr.rows > 0 && csr.cols > 0) continue;
      CHECK(sparse_above(context, dense, 0).topology.nonzeros() == 0);
      CHECK(sparse_largest(context, dense, 0, Per::matrix).topology.nonzeros() == 0);
      CHECK(sparse_largest(context, dense, 0, Per::row).topology.nonzeros() == 0);
      CHECK(make_mask(context, UniformMask{.rows = csr.rows, .cols = csr.cols, .sparsity = 0.5}).nonzeros() == 0);
      CHECK(make_mask(context, BlockMask{.rows = csr.rows, .cols = csr.cols, .block_size = 2}).nonzeros() == 0);
      CHECK(make_mask(context, BandedMask{.rows = csr.rows, .cols = csr.cols, .width = 3}).nonzeros() == 0);
      CHECK(make_mask(context, AttentionMask{.rows = csr.rows, .cols = csr.cols}).nonzeros() == 0);
    }
    CHECK(make_mask(context, BandedMask{.rows = 4, .cols = 4, .width = 0}).nonzeros() == 0);
  });
}
