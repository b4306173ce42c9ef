// Tensor maps over the fake driver: what it is told, and what is said where it cannot make one.
#include <algorithm>
#include <cstdint>

#include "unit/device/cuda_fixture.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

/// 40 columns, 96 apart, of 500 lines, in a batch of 3.
TensorMap some_map(const void* address) {
  return {.boxes = {.address = address,
                    .sizes = {40, 500, 3},
                    .stride_bytes = {192, 96000},
                    .box = {64, 64},
                    .element = Dtype::bf16}};
}

alignas(16) char memory[32];

}  // namespace

TEST_CASE("a tensor map says sizes, strides and box, with zeros past the matrix and lines swizzled over 128 bytes") {
  const FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  CHECK(device->has_tensor_maps());
  TensorMap map = some_map(memory);
  device->make_map(map);
  CHECK(std::all_of(std::begin(map.bytes), std::end(map.bytes), [](unsigned char byte) { return byte == 0x3c; }));

  const fake::TensorMapCall call = driver->last_tensor_map();
  CHECK(call.type == device::cuda::TensorDataType::bf16);
  CHECK(call.rank == 3);
  CHECK(call.address == memory);
  CHECK((call.sizes[0] == 40 && call.sizes[1] == 500 && call.sizes[2] == 3));
  CHECK((call.strides[0] == 192 && call.strides[1] == 96000));
  CHECK((call.box[0] == 64 && call.box[1] == 64 && call.box[2] == 1));
  CHECK((call.steps[0] == 1 && call.steps[1] == 1 && call.steps[2] == 1));
  CHECK(call.interleave == device::cuda::TensorInterleave::none);
  CHECK(call.swizzle == device::cuda::TensorSwizzle::bytes_128);
  CHECK(call.promotion == device::cuda::TensorL2Promotion::bytes_256);
  CHECK(call.fill == device::cuda::TensorFill::zeros);
  CHECK(call.context != nullptr);
  CHECK(driver->current_context() == nullptr);

  map = some_map(memory);
  map.boxes.element = Dtype::f16;
  device->make_map(map);
  CHECK(driver->last_tensor_map().type == device::cuda::TensorDataType::f16);
}

TEST_CASE("boxes of f32 are swizzled where their lines have 128 bytes, and shorter lines follow one another") {
  const FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  for (const int length : {32, 16}) {
    TensorMap map = some_map(memory);
    map.boxes.element = Dtype::f32;
    map.boxes.box[0] = length;
    device->make_map(map);
    const fake::TensorMapCall call = driver->last_tensor_map();
    CHECK(call.type == device::cuda::TensorDataType::f32);
    CHECK(call.swizzle == (length == 32 ? device::cuda::TensorSwizzle::bytes_128 : device::cuda::TensorSwizzle::none));
  }
}

TEST_CASE("a tensor map is made where a stream is captured, too: nothing but the context is asked for") {
  const FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  driver->set_current_context(driver->make_context(0));
  driver->global_capture(true);
  const auto calls = [&] { return std::count(driver->log(), driver->log() + std::string(driver->log()).size(), '\n'); };
  TensorMap map = some_map(memory);
  const auto before = calls();
  device->make_map(map);
  CHECK(calls() - before == 4);  // asks for the context, makes it current, and back
  driver->global_capture(false);
}

TEST_CASE("a map that the driver refuses is an error that names what was asked for") {
  const FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  TensorMap map = some_map(memory);
  map.boxes.stride_bytes[0] = 200;
  const Caught error = caught([&] { device->make_map(map); });
  CHECK(error.code == ErrorCode::device_failure);
  for (const char* part : {"40 x 500 x 3", "200 bytes", "96000", "64 x 64", "cuTensorMapEncodeTiled"})
    CHECK_MESSAGE(error.says(part), error.message);
}

TEST_CASE("a driver older than CUDA 12 and a GPU older than sm_90 have no tensor maps") {
  {
    const FakeDriver old("fake_cuda_old.so");
    const auto device = device::open_cuda(0, {});
    CHECK_FALSE(device->has_tensor_maps());
    TensorMap map = some_map(memory);
    const Caught error = caught([&] { device->make_map(map); });
    CHECK(error.code == ErrorCode::internal);
    CHECK(error.says("cuTensorMapEncodeTiled"));
  }
  const FakeDriver driver;
  driver->set("capability_major", 8);
  CHECK_FALSE(device::open_cuda(0, {})->has_tensor_maps());
}

TEST_CASE("the emulator has no tensor maps, and says so") {
  const auto device = device::open_emulator({});
  CHECK_FALSE(device->has_tensor_maps());
  TensorMap map = some_map(memory);
  const Caught error = caught([&] { device->make_map(map); });
  CHECK(error.code == ErrorCode::internal);
  CHECK(error.says("tensor map"));
}
