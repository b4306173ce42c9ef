#include "plan/kernels.hpp"

#include <latch>
#include <thread>

#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;

namespace {
const codegen::KernelRequest request{
    .family = "row_tile", .header = "spmm/row_tile.h", .expression = "vostok::row_tile<1>"};
}

TEST_CASE("a kernel is compiled once and then comes from memory") {
  test::Fixture fixture;
  const auto session = fixture.session();
  plan::Kernels& kernels = session->kernels();
  const auto first = kernels.get(request, 0);
  CHECK(kernels.get(request, 0) == first);
  CHECK(fixture.device->fake_compiler.compiles == 1);
  CHECK(fixture.counters->kernels_compiled == 1);
  CHECK(first->registers == 32);
}

TEST_CASE("a second session finds the kernel in the code store") {
  test::Fixture fixture;
  fixture.session()->kernels().get(request, 0);
  fixture.session()->kernels().get(request, 0);
  CHECK(fixture.device->fake_compiler.compiles == 1);
  CHECK(fixture.counters->code_hits == 1);
}

TEST_CASE("many threads that want one kernel compile it once") {
  constexpr int count = 8;
  test::Fixture fixture;
  std::latch everyone(count);
  fixture.device->fake_compiler.on_compile = [&](const device::Source&) {
    everyone.wait();
  };  // the first does not end before the last asks
  const auto session = fixture.session();
  plan::Kernels& kernels = session->kernels();
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] {
        everyone.count_down();
        kernels.get(request, 0);
      });
  }
  CHECK(fixture.device->fake_compiler.compiles == 1);
}

TEST_CASE("threads that want one code with different shared memory compile it once") {
  constexpr int count = 8;
  test::Fixture fixture;
  std::latch everyone(count);
  fixture.device->fake_compiler.on_compile = [&](const device::Source&) { everyone.wait(); };
  const auto session = fixture.session();
  plan::Kernels& kernels = session->kernels();
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        everyone.count_down();
        kernels.get(request, std::int64_t{1024} * i);
      });
  }
  CHECK(fixture.device->fake_compiler.compiles == 1);
  CHECK(kernels.get(request, 1024) != kernels.get(request, 2048));
}

TEST_CASE("a failed compile is not remembered") {
  test::Fixture fixture;
  bool broken = true;
  fixture.device->fake_compiler.on_compile = [&](const device::Source&) {
    if (broken) fail(ErrorCode::compile_failed, "cannot compile: broken");
  };
  const auto session = fixture.session();
  plan::Kernels& kernels = session->kernels();
  CHECK(code_of([&] { kernels.get(request, 0); }) == ErrorCode::compile_failed);
  broken = false;
  CHECK(kernels.get(request, 0)->code->hex().size() == 64);
}

TEST_CASE("a stored kernel that the driver refuses is dropped and compiled again, once") {
  test::Fixture fixture;
  fixture.session()->kernels().get(request, 0);
  int loads = 0;
  fixture.device->on_load = [&](const device::Image&) {
    if (++loads == 1) fail(ErrorCode::device_failure, "cannot load kernel: invalid image");
  };
  fixture.session()->kernels().get(request, 0);
  CHECK(fixture.device->fake_compiler.compiles == 2);
  REQUIRE(fixture.log.size() == 1);
  CHECK(fixture.log.front().find("refused by the driver") != std::string::npos);
}

TEST_CASE("where compiling is forbidden a missing kernel is named") {
  test::Fixture fixture;
  const auto session = fixture.session(Options{.compile = CompilePolicy::never});
  plan::Kernels& kernels = session->kernels();
  std::string message;
  CHECK(code_of([&] { kernels.get(request, 0); }, &message) == ErrorCode::missing_kernel);
  CHECK(message.find(request.expression) != std::string::npos);
  CHECK(fixture.device->fake_compiler.compiles == 0);
}
