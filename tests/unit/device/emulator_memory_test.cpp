#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include <vostok/context.hpp>

#include "unit/device/emulator_harness.hpp"

using namespace emulator_test;
using vostok::device::emulator::Guard;
using vostok::device::emulator::open_emulator;

TEST_CASE("device memory is aligned and knows its own pointers") {
  for (const Guard guard : {Guard::end, Guard::start}) {
    const auto device = open_emulator({}, {.guard = guard});
    for (const std::int64_t bytes : {0, 1, 4, 100, 256, 4096, 4097, 100000}) {
      CAPTURE(bytes);
      auto* const memory = static_cast<char*>(device->allocate(bytes));
      CHECK(reinterpret_cast<std::uintptr_t>(memory) % (bytes % 256 == 0 || guard == Guard::start ? 256 : 16) == 0);
      for (std::int64_t i = 0; i < bytes; ++i) REQUIRE(memory[i] == static_cast<char>(0xff));
      CHECK(device->is_device_pointer(memory) == (bytes > 0));
      if (bytes > 0) CHECK(device->is_device_pointer(memory + bytes - 1));
      CHECK_FALSE(device->is_device_pointer(memory + bytes));
      CHECK_FALSE(device->is_device_pointer(memory - 1));
      device->release_behind(memory, {});
      CHECK_FALSE(device->is_device_pointer(memory));
    }
    CHECK_FALSE(device->is_device_pointer(&guard));
    CHECK_FALSE(device->is_device_pointer(nullptr));
  }
}

TEST_CASE("more device memory than the host has is out_of_memory, and the device stays usable") {
  const auto device = open_emulator({}, {});
  for (const std::int64_t bytes : {device->info().memory_bytes + 1, std::int64_t{1} << 50, std::numeric_limits<std::int64_t>::max()}) {
    try {
      device->allocate(bytes);
      FAIL("allocated " << bytes);
    } catch (const vostok::Error& error) {
      CHECK(error.code() == vostok::ErrorCode::out_of_memory);
      CHECK(contains(error.what(), "cannot allocate " + std::to_string(bytes) + " bytes of device memory"));
    }
  }
  CHECK_THROWS_AS(device->allocate(-1), vostok::Error);
  device->release_behind(device->allocate(1000), {});
}

TEST_CASE("copies and fills move what they are given") {
  const auto device = open_emulator({}, {});
  const vostok::device::Buffer memory(*device, 400);
  std::vector<int> values(100, 7);
  device->copy_to_device(memory.data(), values.data(), 400);
  device->fill(nullptr, memory.data(), 1, 200);
  device->copy_to_host(values.data(), memory.data(), 400);
  CHECK(values[49] == 0x01010101);
  CHECK(values[50] == 7);
}

TEST_CASE("a user's allocator serves every allocation of the device") {
  struct Counting final : vostok::Allocator {
    void* allocate(std::int64_t bytes) override {
      if (bytes > 10000) return nullptr;
      ++live;
      return std::aligned_alloc(256, static_cast<std::size_t>(bytes + 255) / 256 * 256);
    }
    void release(void* memory) noexcept override {
      --live;
      std::free(memory);
    }
    int live = 0;
  };
  const auto allocator = std::make_shared<Counting>();
  const auto device = open_emulator({.allocator = allocator}, {});
  {
    const vostok::device::Buffer memory(*device, 1000);
    CHECK(allocator->live == 1);
    CHECK(device->is_device_pointer(memory.data()));
    CHECK_THROWS_AS(device->allocate(10001), vostok::Error);
  }
  CHECK(allocator->live == 0);
}
