// The dense transposition on the emulator in several thread orders and on every GPU.
#include "ops/dense_transpose.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "device/kernel_devices.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

/// What a call brings: the launch is generic over it.
struct Call {
  const void* operand = nullptr;
  void* workspace = nullptr;
  std::int64_t n = 0;
};

struct Shape {
  std::int64_t rows, columns;
  std::int64_t source_leading = 0, destination_leading = 0;
  std::int64_t batch = 1;
  std::int64_t source_gap = 0, destination_gap = 0;  ///< elements between two matrices

  std::int64_t source_row() const { return source_leading != 0 ? source_leading : columns; }
  std::int64_t destination_row() const { return destination_leading != 0 ? destination_leading : rows; }
  std::int64_t source_stride() const { return rows * source_row() + source_gap; }
  std::int64_t destination_stride() const { return columns * destination_row() + destination_gap; }
};

constexpr std::int64_t offset_bytes = 256;

/// `grid` replaces the launch's own where it has blocks.
template <class Bits>
void check_transpose(const NamedDevice& on, Dtype element, const Shape& shape, device::Dim3 grid = {0, 0, 0},
                     bool aligned = false) {
  INFO(on.name, ": ", shape.rows, " x ", shape.columns, ", leading ", shape.source_leading, " and ",
       shape.destination_leading, ", batch ", shape.batch, ", ", name(element));
  ops::Launch launch = ops::transpose_launch<Call>(element, aligned, [shape](const Call& call) {
    return ops::DenseTransposition{.source = call.operand,
                                   .destination = ops::workspace_at(call.workspace, offset_bytes),
                                   .rows = call.n,
                                   .columns = shape.columns,
                                   .source_leading = shape.source_leading,
                                   .destination_leading = shape.destination_leading,
                                   .source_stride = shape.source_gap != 0 ? shape.source_stride() : 0,
                                   .destination_stride = shape.destination_gap != 0 ? shape.destination_stride() : 0,
                                   .batch = shape.batch};
  });
  load_kernel(*on.device, launch);

  // The last row of the last matrix ends with its last element: reading on would meet a guard page.
  const std::int64_t source_count =
      shape.batch * shape.source_stride() - shape.source_gap - (shape.source_row() - shape.columns);
  const auto bytes = [](std::int64_t count) { return count * static_cast<std::int64_t>(sizeof(Bits)); };
  std::vector<Bits> source(static_cast<std::size_t>(source_count));
  sparse::Random random(7);
  for (Bits& bits : source) bits = static_cast<Bits>(random.bits());
  const device::Buffer operand(*on.device, bytes(source_count));
  on.device->copy_to_device(operand.data(), source.data(), operand.bytes());
  const std::int64_t count = shape.batch * shape.destination_stride() - shape.destination_gap;
  const device::Buffer workspace(*on.device, offset_bytes + bytes(count));
  std::vector<unsigned char> all(static_cast<std::size_t>(workspace.bytes()), 0xa5);
  on.device->copy_to_device(workspace.data(), all.data(), workspace.bytes());

  const Call call{.operand = operand.data(), .workspace = workspace.data(), .n = shape.rows};
  DenseTransposeArgs args{};
  device::LaunchShape bound = launch.bind(&call, &args);
  if (grid.x > 0) bound.grid = grid;
  on.device->launch(on.device->own_stream(), *launch.kernel(), bound, &args, sizeof args);
  on.device->synchronize(on.device->own_stream());

  std::vector<unsigned char> expected(static_cast<std::size_t>(workspace.bytes()), 0xa5);
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t i = 0; i < shape.rows; ++i)
      for (std::int64_t j = 0; j < shape.columns; ++j) {
        const std::int64_t to = b * shape.destination_stride() + j * shape.destination_row() + i;
        std::memcpy(expected.data() + offset_bytes + bytes(to),
                    &source[static_cast<std::size_t>(b * shape.source_stride() + i * shape.source_row() + j)],
                    sizeof(Bits));
      }
  on.device->copy_to_host(all.data(), workspace.data(), workspace.bytes());
  CHECK(all == expected);
}

}  // namespace

TEST_CASE(
    "a transposed matrix holds every element once and nothing else is written, for any shape, padding and batch") {
  const std::vector<Shape> shapes = {
      {1, 1}, {1, 200}, {200, 1}, {64, 64}, {33, 95, 100, 40}, {70, 130, 131, 71, 3}, {5, 7, 9, 6, 4, 3, 11}};
  for (const NamedDevice& on : kernel_devices())
    for (const Shape& shape : shapes) {
      check_transpose<std::uint32_t>(on, Dtype::f32, shape);
      check_transpose<std::uint16_t>(on, Dtype::bf16, shape);
    }
}

TEST_CASE("lines that begin at multiples of 16 bytes are transposed 16 bytes at a time, with ends of any length") {
  const std::vector<Shape> shapes = {{64, 64},
                                     {8, 200},
                                     {200, 8},
                                     {1, 64, 64, 8},
                                     {33, 95, 104, 40},
                                     {70, 130, 136, 72, 3},
                                     {5, 7, 16, 8, 4, 8, 16},
                                     {129, 193, 200, 136}};
  for (const NamedDevice& on : kernel_devices())
    for (const Shape& shape : shapes) check_transpose<std::uint16_t>(on, Dtype::bf16, shape, {0, 0, 0}, true);
}

TEST_CASE(
    "grids of any shape that hold the batch transpose all of it: matrices on y and z, fewer blocks than tiles on x") {
  for (const NamedDevice& on : kernel_devices())
    for (const device::Dim3 grid : {device::Dim3{9, 2, 2}, device::Dim3{1, 3, 1}, device::Dim3{4, 1, 3}})
      check_transpose<std::uint16_t>(on, Dtype::f16, {.rows = 130, .columns = 70, .batch = 3}, grid);
}

TEST_CASE("a transposition's grid stays within the limits, and a matrix without elements launches nothing") {
  DenseTransposeArgs args{};
  const device::Dim3 batch = ops::dense_transpose::bind({.rows = 4, .columns = 5, .batch = 65537}, 32, args);
  CHECK(batch.y == 65535);
  CHECK(batch.z == 2);
  CHECK(ops::dense_transpose::bind({.rows = 0, .columns = 5}, 32, args).x == 0);
  CHECK(ops::dense_transpose::bind({.rows = 5, .columns = 0}, 32, args).x == 0);
  CHECK(ops::dense_transpose::bind({.rows = std::int64_t{1} << 30, .columns = std::int64_t{1} << 30}, 32, args).x ==
        0x7fffffffU);
}
