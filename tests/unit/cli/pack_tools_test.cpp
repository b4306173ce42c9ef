// The tools that a program uses beside its plans need no compiler either, where the kernels of its problems were
// packed.
#include <doctest/doctest.h>

#include <vostok/tools.hpp>

#include "base/temporary_folder.hpp"
#include "cli/matrix_source.hpp"
#include "cli/pack.hpp"
#include "cli/pack_tools.hpp"
#include "cli/problem_file.hpp"
#include "context_state.hpp"
#include "unit/cli/pack_fixture.hpp"

using namespace vostok;
using namespace vostok::cli;
using namespace vostok::cli::testing;

namespace {

namespace fs = std::filesystem;

/// A topology as tools make it is copied and measured by kernels: so are those that are made of it.
void use_again(const Topology& topology) {
  CHECK(transpose(topology).topology.cols() == topology.rows());
  CHECK(sort_columns(topology).topology.cols() == topology.cols());
}

void use_conversions(const Context& context, const Topology& topology, Dtype type) {
  device::Device& device = context.state()->session->device();
  const auto [rows, cols] = std::pair(topology.rows(), topology.cols());
  const std::int64_t bytes = rows * cols * size_of(type);
  const device::Buffer memory(device, bytes), values(device, bytes);
  device.fill(nullptr, memory.data(), 0x3c, bytes);  // a small number in every type
  device.fill(nullptr, values.data(), 0x3c, bytes);
  const DenseView dense{.data = memory.data(), .rows = rows, .cols = cols, .element = type};
  use_again(sparse_above(context, dense, 0).topology);
  CHECK(sparse_largest(context, dense, rows, Per::matrix).topology.nonzeros() == rows);
  CHECK(sparse_largest(context, dense, 2, Per::row).topology.nonzeros() == 2 * rows);
  to_dense(topology, values.data(), {.data = memory.data(), .element = type});
}

void use_tools(const Context& context, const ProblemLine& line) {
  CAPTURE(line.text);
  device::Device& device = context.state()->session->device();
  const Topology topology = load(line.options, *line.job, context).topology;
  const auto [rows, cols] = std::pair(topology.rows(), topology.cols());
  for (const Dtype type : value_types(line.job->value())) use_conversions(context, topology, type);
  use_again(topology);
  const device::Buffer indices(device, topology.nonzeros() * 8);
  linear_indices(topology, indices.as<std::int32_t>());
  linear_indices(topology, indices.as<std::int64_t>());
  const device::Buffer offsets(device, (topology.rows() + 1) * std::int64_t{sizeof(std::int64_t)});
  read_csr(topology, offsets.as<std::int32_t>(), indices.as<std::int32_t>());
  read_csr(topology, offsets.as<std::int64_t>(), indices.as<std::int64_t>());
  use_again(make_mask(context, UniformMask{.rows = rows, .cols = cols, .sparsity = 0.5}));
  use_again(make_mask(context, BlockMask{.rows = rows, .cols = cols, .block_size = 4, .sparsity = 0.5}));
  use_again(make_mask(context, BandedMask{.rows = rows, .cols = cols, .width = 3}));
  use_again(make_mask(context, AttentionMask{.rows = rows, .cols = cols, .width = 4, .sparsity = 0.5, .causal = true}));
  device.synchronize(nullptr);
}

}  // namespace

TEST_CASE("every tool works on the emulator without a compiler, for a problem that was packed for it") {
  const TemporaryFolder folder;
  const fs::path problems =
      folder.write("problems.txt", "sddmm --random 24x40x0.5 --n 8 --dtype f16 --output-dtype f32\n");
  const fs::path packed = folder / "packed.db";
  const PackReport report = pack({.like = {"emulator"}, .problems = problems, .out = packed, .cache = folder / "none"});
  for (const std::string& failure : report.failures) CHECK(failure == "");
  const Context context(packed_only("emulator", packed, folder / "cache"));
  for (const ProblemLine& line : read_problem_file(problems)) use_tools(context, line);
  CHECK(context.counters().kernels_compiled == 0);
}

// More rows or columns than one block scans, than one digit sorts, and than 16 bits hold: other kernels. Each problem
// has a file of its own, so that none does with another's kernels.
TEST_CASE("no tool opens NVRTC for a problem that was packed for such a GPU, whatever its shape and types") {
  for (const char* problem : {"spmm --random 64x100x0.9 --n 8 --family row_tile",
                              "spmm --random 9000x40x0.9 --n 8 --family row_tile --dtype bf16",
                              "spmm --random 40x70000x0.99 --n 8 --family row_tile",
                              "softmax --random 70000x16x0.9 --dtype f16 --output-dtype f32"}) {
    const TemporaryFolder folder;
    const fs::path problems = folder.write("problems.txt", problem);
    const fs::path packed = folder / "packed.db";
    {
      const FakeNvrtc nvrtc;
      const PackReport report = pack(
          {.like = {fake_gpu}, .problems = problems, .out = packed, .cache = folder / "none", .nvrtc = nvrtc.path});
      for (const std::string& failure : report.failures) CHECK(failure == "");
    }
    const test::FakeDriver driver(any_arguments);
    const Context context(packed_only("cuda:0", packed, folder / "cache"));
    for (const ProblemLine& line : read_problem_file(problems)) use_tools(context, line);
    CHECK(context.counters().kernels_compiled == 0);
  }
}

TEST_CASE("the types of a sparse matrix's values are the problem's, each once") {
  CHECK(value_types(Spmm{.element = Dtype::f16}) == std::vector{Dtype::f16});
  CHECK(value_types(Spmm{.element = Dtype::f16, .output = Dtype::f32}) ==
        std::vector{Dtype::f16});  // its output is dense
  CHECK(value_types(Softmax{.element = Dtype::f16, .output = Dtype::f16}) == std::vector{Dtype::f16});
  CHECK(value_types(Sddmm{.element = Dtype::f16, .output = Dtype::f32}) == std::vector{Dtype::f16, Dtype::f32});
  CHECK(value_types(SparseAttention{.element = Dtype::bf16}) == std::vector{Dtype::bf16});
  CHECK(value_types(SparseAttentionBackward{.forward = {.element = Dtype::bf16}}) == std::vector{Dtype::bf16});
  CHECK(value_types(Im2col{}).empty());
}

TEST_CASE("a tool whose result takes kernels that run says so where nothing runs") {
  const FakeNvrtc nvrtc;
  const Context context(
      Options{.device = std::string("compile:") + fake_gpu, .cache = {.enabled = false}, .nvrtc = nvrtc.path});
  const test::Caught error = test::caught([&] { make_mask(context, BandedMask{.rows = 4, .cols = 4}); });
  CHECK(error.code == ErrorCode::no_device);
  CHECK(error.says("Fake GPU"));
}

TEST_CASE("a graph is packed for, of which a mask with half of all elements would have no memory") {
  const TemporaryFolder folder;
  const FakeNvrtc nvrtc;
  const fs::path problems = folder.write("problems.txt", "spmm --random 262144x262144x0.999999 --n 4\n");
  const PackReport report = pack({.like = {"NVIDIA H200"},
                                  .problems = problems,
                                  .out = folder / "packed.db",
                                  .cache = folder / "none",
                                  .nvrtc = nvrtc.path});
  for (const std::string& failure : report.failures) CHECK(failure == "");
  CHECK(report.devices[0].problems == 1);
}
