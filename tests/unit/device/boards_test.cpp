#include "device/offline/boards.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "unit/device/cuda_fixture.hpp"

using namespace vostok;
using device::offline::describe;

TEST_CASE("a GPU that is not here is described by its name, its architecture or its fields") {
  const auto h200 = describe("NVIDIA H200");
  CHECK(h200.info.architecture == "sm_90");
  CHECK(h200.info.gpu);
  CHECK(h200.info.multiprocessors == 132);
  CHECK(h200.max_shared_bytes == 232'448);
  CHECK(h200.info.peak_bandwidth_gb == doctest::Approx(4917).epsilon(0.001));

  CHECK(describe("sm_80").info.name == "NVIDIA A100-SXM4-80GB");
  CHECK(describe("sm_80").max_shared_bytes == 166'912);
  CHECK(describe("sm_75").max_shared_bytes == 65'536);
  CHECK(describe("sm_89").max_shared_bytes == 101'376);

  const auto fields = describe("architecture=sm_90 memory_bytes=1000 multiprocessors=78 name=NVIDIA%20H20");
  CHECK(fields.info.name == "NVIDIA H20");
  CHECK(fields.info.multiprocessors == 78);
  CHECK(fields.info.memory_bytes == 1000);
  CHECK(fields.info.clock_mhz == h200.info.clock_mhz);
}

TEST_CASE(
    "an architecture without a board of its own takes the nearest older one's sizes, and its own name and limits") {
  const auto orin = describe("sm_87");
  CHECK(orin.info.architecture == "sm_87");
  CHECK(orin.info.name == "NVIDIA A10");
  CHECK(orin.threads_per_multiprocessor == 1536);
  CHECK(orin.max_shared_bytes == 166'912);
  CHECK(describe("sm_103").max_shared_bytes == 232'448);
  CHECK(describe("sm_121").max_shared_bytes == 101'376);
}

TEST_CASE("what describes no GPU that this library runs on is refused, naming what is known") {
  for (const char* what : {"", "NVIDIA H9000", "sm_70", "sm_90a", "name=NVIDIA%20H200", "architecture=emulator",
                           "architecture=sm_90 multiprocessors=-1"}) {
    CAPTURE(what);
    CHECK(test::caught([&] { describe(what); }).code == ErrorCode::invalid_argument);
  }
  const test::Caught unknown = test::caught([] { describe("NVIDIA H9000"); });
  CHECK(unknown.says("NVIDIA H9000"));
  CHECK(unknown.says("NVIDIA H200"));
}
