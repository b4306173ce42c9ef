// Allocation and deferred release of the CUDA device, over the fake driver.
#include <memory>
#include <set>

#include "unit/device/cuda_fixture.hpp"

using namespace vostok;
using namespace vostok::test;
using device::cuda::CaptureStatus;
using device::cuda::Result;

namespace {

constexpr unsigned out_of_memory = static_cast<unsigned>(Result::out_of_memory);

/// Hands out host memory and keeps count.
class CountingAllocator : public Allocator {
 public:
  void* allocate(std::int64_t bytes) override {
    if (exhausted) return nullptr;
    void* const memory = std::aligned_alloc(256, static_cast<std::size_t>((bytes + 511) / 256 * 256));
    live.insert(memory);
    return static_cast<char*>(memory) + offset;
  }
  void release(void* memory) noexcept override {
    void* const start = static_cast<char*>(memory) - offset;
    live.erase(start);
    std::free(start);
  }
  std::set<void*> live;
  bool exhausted = false;
  int offset = 0;
};

}  // namespace

TEST_CASE("memory comes from a pool where the device has such, and is freed without waiting for the device") {
  FakeDriver driver;
  auto device = device::open_cuda(0, {});
  void* const memory = device->allocate(1000);
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 256 == 0);
  device->release_behind(memory, {});
  CHECK(driver->live("memory") == 0);
  CHECK(driver->calls("cuMemAllocFromPoolAsync") == 1);
  CHECK(driver->calls("cuMemFreeAsync") == 1);
  CHECK(driver->calls("cuMemAlloc_v2") + driver->calls("cuMemFree_v2") == 0);
  device.reset();
  CHECK(driver->live("pool") == 0);
}

TEST_CASE("the pool keeps a small share of the device's memory, so that new masks do not map it again") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  CHECK(driver->live("pool") == 1);
  CHECK(driver->kept_by_pool() == static_cast<std::uint64_t>(device->info().memory_bytes) / 512);
  CHECK(driver->kept_by_pool() > 0);
}

TEST_CASE("a pool that cannot be told what to keep is given back, and the error says so") {
  FakeDriver driver;
  driver->fail("cuMemPoolSetAttribute", 0, 1, out_of_memory);
  const Caught error = caught([] { device::open_cuda(0, {}); });
  CHECK(error.code == ErrorCode::out_of_memory);
  CHECK(error.says("cannot set what a memory pool keeps: cuMemPoolSetAttribute failed with"));
  CHECK(driver->live("pool") + driver->live("stream") == 0);
}

TEST_CASE("memory comes from cuMemAlloc where the driver or the device has no pools") {
  for (const bool old : {false, true}) {
    FakeDriver driver(old ? "fake_cuda_old.so" : "fake_cuda.so");
    driver->set("pools", old ? 1 : 0);
    const auto device = device::open_cuda(0, {});
    device->release_behind(device->allocate(1000), {});
    CHECK(driver->calls("cuMemAlloc_v2") == 1);
    CHECK(driver->calls("cuMemFree_v2") == 1);
    CHECK(driver->calls("cuMemAllocFromPoolAsync") == 0);
    CHECK(driver->live("pool") == 0);
  }
}

TEST_CASE("released memory is freed only when the work queued on every stream has ended") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const auto first = driver->user_stream("first");
  const auto second = driver->user_stream("second");
  driver->stall(first, true);
  driver->stall(second, true);
  device->release_behind(device->allocate(64), {first, second});
  CHECK(driver->live("memory") == 1);
  driver->stall(first, false);
  device->release_behind(device->allocate(64), {});
  CHECK_MESSAGE(driver->live("memory") == 1, "the second stream is still busy, the other block is free");
  driver->stall(second, false);
  device::Buffer sweeps(*device, 64);
  CHECK_MESSAGE(driver->live("memory") == 1, "only the new buffer");
  CHECK(driver->live("event") == 0);
  CHECK(driver->calls("cuEventSynchronize") == 0);
}

TEST_CASE("blocks are freed in the order in which their work ends, not in the order of release") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const auto slow = driver->user_stream("slow");
  driver->stall(slow, true);
  device->release_behind(device->allocate(64), {slow});
  device->release_behind(device->allocate(64), {driver->user_stream("fast")});
  CHECK(driver->live("memory") == 1);
  driver->stall(slow, false);
}

TEST_CASE("memory used on a captured or refused stream is kept until the device closes") {
  FakeDriver driver;
  auto device = device::open_cuda(0, {});
  const auto captured = driver->user_stream("captured");
  const auto refused = driver->user_stream("refused");
  driver->capture(captured, CaptureStatus::active);
  device->release_behind(device->allocate(64), {captured});
  CHECK_MESSAGE(driver->calls("cuEventRecord") == 0, "an event on a captured stream would join the graph");
  driver->capture(captured, CaptureStatus::none);
  driver->fail("cuEventRecord", 0, 1, static_cast<unsigned>(Result::invalid_handle));
  device->release_behind(device->allocate(64), {refused});
  driver->fail("cuEventCreate", 0, 1, out_of_memory);
  device->release_behind(device->allocate(64), {refused});
  device::Buffer sweeps(*device, 64);
  CHECK(driver->live("memory") == 4);
  sweeps = device::Buffer();
  CHECK(driver->live("memory") == 3);
  device.reset();
  CHECK(driver->live("memory") == 0);
}

TEST_CASE(
    "memory used on the legacy stream while that is barred by a capture is freed once the capture and the work have "
    "ended") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const auto captured = driver->user_stream("captured");
  driver->stall(legacy_stream, true);
  driver->capture(captured, CaptureStatus::active);
  device->release_behind(device->allocate(64), {nullptr});
  CHECK_MESSAGE(driver->calls("cuEventRecord") == 0, "an event on the legacy stream would end the capture");
  const auto alive_after_sweep = [&] {
    device::Buffer sweeps(*device, 64);
    return driver->live("memory") - 1;
  };
  CHECK(alive_after_sweep() == 1);
  driver->capture(captured, CaptureStatus::none);
  CHECK_MESSAGE(alive_after_sweep() == 1, "the legacy stream's work has not ended");
  CHECK(driver.logged("cuEventRecord legacy"));
  driver->stall(legacy_stream, false);
  CHECK(alive_after_sweep() == 0);
}

TEST_CASE("an event that the driver cannot answer for keeps its block until the device closes") {
  FakeDriver driver;
  auto device = device::open_cuda(0, {});
  driver->fail("cuEventQuery", 0, 1, static_cast<unsigned>(Result::launch_failed));
  device->release_behind(device->allocate(64), {driver->user_stream("user")});
  device->release_behind(device->allocate(64), {});
  CHECK(driver->live("memory") == 1);
  device.reset();
  CHECK(driver->live("memory") == 0);
}

TEST_CASE("closing the device waits for the events of released blocks and frees them") {
  FakeDriver driver;
  auto device = device::open_cuda(0, {});
  const auto user = driver->user_stream("user");
  driver->stall(user, true);
  device->release_behind(device->allocate(64), {user});
  device.reset();
  CHECK(driver->calls("cuEventSynchronize") == 1);
  CHECK(driver->live("memory") == 0);
}

TEST_CASE("out of memory names the bytes and the driver's error, and leaves the device usable") {
  for (const char* file : {"fake_cuda.so", "fake_cuda_old.so"}) {
    FakeDriver driver(file);
    const auto device = device::open_cuda(0, {});
    const Caught error = caught([&] { device->allocate(std::int64_t{1} << 40); });
    CHECK(error.code == ErrorCode::out_of_memory);
    CHECK(error.says("1099511627776 bytes"));
    CHECK(error.says("CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"));
    const device::Buffer after(*device, 64);
    CHECK(after.data() != nullptr);
    CHECK(driver->live("memory") == 1);
  }
}

TEST_CASE("a pool that does not deliver frees what it gave") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  driver->fail("cuStreamSynchronize", 0, 1, static_cast<unsigned>(Result::launch_failed));
  CHECK(caught([&] { device->allocate(64); }).code == ErrorCode::device_failure);
  CHECK(driver->live("memory") == 0);
}

TEST_CASE("sizes of zero need no memory and negative ones are refused") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  CHECK(device->allocate(0) == nullptr);
  device->release_behind(nullptr, {});
  CHECK(caught([&] { device->allocate(-1); }).code == ErrorCode::invalid_argument);
}

TEST_CASE("the allocator of the options serves every allocation and gets memory back behind its work") {
  FakeDriver driver;
  const auto allocator = std::make_shared<CountingAllocator>();
  const auto device = device::open_cuda(0, {.allocator = allocator});
  const auto user = driver->user_stream("user");
  driver->stall(user, true);
  device->release_behind(device->allocate(64), {user});
  CHECK(allocator->live.size() == 1);
  driver->stall(user, false);
  device->allocate(0);
  CHECK(allocator->live.empty());
  allocator->exhausted = true;
  const Caught none = caught([&] { device->allocate(640); });
  CHECK(none.code == ErrorCode::out_of_memory);
  CHECK(none.says("640 bytes"));
  allocator->exhausted = false;
  allocator->offset = 16;
  const Caught shifted = caught([&] { device->allocate(64); });
  CHECK(shifted.code == ErrorCode::invalid_argument);
  CHECK(shifted.says("64 bytes from the allocator"));
  CHECK(shifted.says("is not aligned to 256 bytes"));
  CHECK(allocator->live.empty());
  CHECK(driver->calls("cuMemAlloc_v2") + driver->calls("cuMemAllocFromPoolAsync") == 0);
}

TEST_CASE("a buffer owns its memory through moves and gives it away on release") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  device::Buffer first(*device, 64);
  device::Buffer second(*device, 32);
  void* const memory = first.data();
  second = std::move(first);
  CHECK(driver->live("memory") == 1);
  CHECK(second.data() == memory);
  CHECK(second.bytes() == 64);
  device::Buffer third(std::move(second));
  CHECK(third.release() == memory);
  CHECK_FALSE(third);
  device->release_behind(memory, {});
}
