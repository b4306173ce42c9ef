#include <doctest/doctest.h>

#include <cstdint>

#include "bench/harness/counting_allocator.hpp"

namespace vostok::bench {
namespace {

TEST_CASE("what is alive is counted in the bytes that were asked for, and memory of no one's is left alone") {
  CountingAllocator allocator(nullptr);
  void* const first = allocator.allocate(100);
  void* const second = allocator.allocate(1);
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(second) % 256 == 0);
  CHECK(allocator.bytes_alive() == 101);
  int elsewhere = 0;
  allocator.release(&elsewhere);
  CHECK(allocator.bytes_alive() == 101);
  allocator.release(first);
  CHECK(allocator.bytes_alive() == 1);
  allocator.release(second);
  CHECK(allocator.bytes_alive() == 0);
}

}  // namespace
}  // namespace vostok::bench
