#include "base/host_memory.hpp"

#include <doctest/doctest.h>
#include <sys/sysinfo.h>

TEST_CASE("the memory that is free is some, and not more than memory and swap together") {
  struct sysinfo machine = {};
  REQUIRE(sysinfo(&machine) == 0);
  const std::int64_t available = vostok::available_host_bytes();
  CHECK(available > 0);
  CHECK(available <= static_cast<std::int64_t>((machine.totalram + machine.totalswap) * machine.mem_unit));
}
