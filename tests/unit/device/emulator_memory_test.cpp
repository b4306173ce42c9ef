#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <sstream>
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
  for (const std::int64_t bytes :
       {device->info().memory_bytes + 1, std::int64_t{1} << 50, std::numeric_limits<std::int64_t>::max()}) {
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
    CHECK(device->allocate(0) == nullptr);
    CHECK(allocator->live == 1);
  }
  CHECK(allocator->live == 0);
}

TEST_CASE(
    "memory of the user's allocator that is not aligned to 256 bytes goes back, and the error names address and "
    "bytes") {
  struct Shifting final : vostok::Allocator {
    void* allocate(std::int64_t) override {
      ++live;
      return memory + shift;
    }
    void release(void*) noexcept override { --live; }
    alignas(256) unsigned char memory[4096] = {};
    int shift = 0;
    int live = 0;
  };
  const auto allocator = std::make_shared<Shifting>();
  const auto device = open_emulator({.allocator = allocator}, {});
  for (const int shift : {1, 16, 64, 128, 255}) {
    CAPTURE(shift);
    allocator->shift = shift;
    try {
      device->allocate(100);
      FAIL("it was taken");
    } catch (const vostok::Error& error) {
      CHECK(error.code() == vostok::ErrorCode::invalid_argument);
      std::ostringstream address;
      address << static_cast<void*>(allocator->memory + shift);
      CHECK(contains(error.what(), "100 bytes from the allocator"));
      CHECK(contains(error.what(), address.str() + " is not aligned to 256 bytes"));
    }
    CHECK(allocator->live == 0);
  }
  allocator->shift = 256;
  device->release_behind(device->allocate(100), {});
  CHECK(allocator->live == 0);
}

TEST_CASE("the user's allocator may call the device while it serves it") {
  struct Asking final : vostok::Allocator {
    void* allocate(std::int64_t) override {
      asked = !device->is_device_pointer(memory);
      return memory;
    }
    void release(void*) noexcept override { given_back = !device->is_device_pointer(memory); }
    alignas(256) unsigned char memory[256] = {};
    vostok::device::Device* device = nullptr;
    bool asked = false;
    bool given_back = false;
  };
  const auto allocator = std::make_shared<Asking>();
  const auto device = open_emulator({.allocator = allocator}, {});
  allocator->device = device.get();
  {
    const vostok::device::Buffer memory(*device, 256);
  }
  CHECK(allocator->asked);
  CHECK(allocator->given_back);
}
