// A sparse matrix times a dense one: c++ -std=c++20 spmm.cpp $(pkg-config --cflags --libs vostok).
//
// Runs on a GPU where there is one, else on the emulator.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <vostok/vostok.hpp>

namespace {

/// Device memory that holds a copy of the values.
vostok::DeviceArray upload(const vostok::Context& context, const std::vector<float>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
  vostok::DeviceArray array = vostok::make_array(context, bytes);
  vostok::copy_to_device(context, array.data(), values.data(), bytes);
  return array;
}

void multiply() {
  constexpr std::int64_t rows = 4, cols = 6, n = 2;
  const std::vector<std::int32_t> row_offsets = {0, 2, 2, 4, 5};
  const std::vector<std::int32_t> column_indices = {0, 3, 1, 5, 2};

  // Where the nonzeros are: a topology. It is copied, and may serve many plans.
  const vostok::Context context;
  const vostok::Topology mask = context.topology(
      {.rows = rows, .cols = cols, .row_offsets = row_offsets.data(), .column_indices = column_indices.data()});

  // What is to be computed: decided and compiled once.
  const vostok::Spmm problem{.n = n, .epilogue = {.activation = vostok::Activation::relu}};
  const vostok::SpmmPlan plan = context.plan(problem, mask);

  // Operands in device memory, and the product: queued on a stream as often as wanted.
  const vostok::Stream stream = vostok::legacy_stream;
  const vostok::DeviceArray values = upload(context, {1, 2, -3, 4, 5});
  const vostok::DeviceArray dense = upload(context, {1, 0, 0, 1, 2, 2, 1, 1, 3, 3, 0, -1});
  const vostok::DeviceArray product = upload(context, std::vector<float>(rows * n));
  const vostok::Workspace workspace = plan.make_workspace();
  plan.execute(stream,
               {.values = values.data(), .dense = dense.data(), .output = product.data(), .workspace = workspace});

  std::vector<float> output(rows * n);
  vostok::copy_to_host(context, output.data(), product.data(), product.bytes(), stream);
  for (std::size_t i = 0; i < output.size(); i += n) std::printf("%g %g\n", output[i], output[i + 1]);
}

}  // namespace

int main() {
  try {
    multiply();
  } catch (const vostok::Error& error) {
    std::fprintf(stderr, "%s: %s\n", name(error.code()), error.what());
    return 1;
  }
  return 0;
}
