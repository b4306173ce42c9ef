// The case that tuner, tool and benchmarks verify SpMM with: it accepts what row_tile computes, and nothing that is
// wrong.
#include "tune/spmm_case.hpp"

#include "device/family_run.hpp"
#include "device/row_tile_harness.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr std::uint64_t seed = 20204;

const std::vector<Spmm>& problems() {
  static const std::vector<Spmm> list = {
      {.n = 20},
      {.n = 24,
       .batch = 3,
       .values_per_batch = true,
       .element = Dtype::f16,
       .output_leading = 30,
       .epilogue = {.bias = Bias::per_column}},
      {.n = 8,
       .element = Dtype::bf16,
       .sparse_transposed = true,
       .dense_layout = Layout::column_major,
       .epilogue = {.residual = true}},
      {.n = 9,
       .element = Dtype::f16,
       .output = Dtype::f32,
       .output_layout = Layout::column_major,
       .output_leading = 40,
       .epilogue = {.activation = Activation::gelu, .scale = Scale::device, .accumulate = true}},
  };
  return list;
}

const sparse::Csr& matrix() {
  static const sparse::Csr csr = sparse::uniform(32, 50, 0.7, seed);
  return csr;
}

}  // namespace

TEST_CASE("an SpMM case accepts the right product") {
  const NamedDevice& on = kernel_devices().front();
  for (const Spmm& problem : problems()) {
    const RowTileCase c = make_case(matrix(), problem, seed);
    const ops::SpmmQuery query = c.query(on.device.get());
    const ops::Config config = row_tile().default_config(query);
    const DeviceTopology topology(*on.device, c, row_tile().needs(query, config));
    tune::SpmmCase operands(*on.device, problem, matrix(), seed);
    const tune::Check check = run_family(*on.device, row_tile(), query, config, topology.pointers, operands);
    CHECK_MESSAGE(check.wrong.empty(), check.wrong << " for " << described(c));
    CHECK(check.error > 0);
    CHECK(operands.flops() == 2.0 * static_cast<double>(matrix().nonzeros() * problem.n * problem.batch));
  }
}

TEST_CASE("an SpMM case refuses an output that was not written, written wrongly, or written outside of C") {
  device::Device& device = *kernel_devices().front().device;
  for (const Spmm& problem : problems()) {
    tune::SpmmCase operands(device, problem, matrix(), seed);
    CHECK(!operands.verify([](Stream) {}).wrong.empty());
    const std::int64_t element_bytes = size_of(problem.output.value_or(problem.element));
    const std::int64_t rows = problem.sparse_transposed ? matrix().cols : matrix().rows;
    const ops::StoredMatrix shape =
        ops::stored_matrix(problem.output_layout, rows, problem.n, problem.output_leading, problem.output_stride);
    const std::int64_t bytes = ((problem.batch - 1) * shape.stride + shape.extent()) * element_bytes;
    const auto zeros = [&](std::int64_t from, std::int64_t to) {
      auto* const output = static_cast<char*>(operands.call().output);
      return operands.verify([&](Stream stream) { device.fill(stream, output + from, 0, to - from); }).wrong;
    };
    const bool padded = shape.leading > shape.length;
    CHECK(zeros(0, bytes).find(padded ? "written" : "above the tolerance") != std::string::npos);
    CHECK(zeros(-2, bytes).find("written") != std::string::npos);
    CHECK(zeros(0, bytes + 2).find("written") != std::string::npos);
    if (!padded && !problem.epilogue.accumulate)
      CHECK(zeros(element_bytes, bytes).find("not written") != std::string::npos);
  }
}
