// Drivers that are missing, old or failing: every call of the driver fails once at each place it is made.
#include <functional>
#include <set>

#include "device/cuda/driver_library.hpp"
#include "unit/device/cuda_fixture.hpp"

using namespace vostok;
using namespace vostok::test;

namespace {

constexpr unsigned illegal_address = 700;

/// One of everything a device does, over two streams of the user's.
void use_everything(const fake::Controls& driver) {
  const auto device = device::open_cuda(0, {});
  const auto kernel = device->load({.binary = "FAKE kernel 8", .symbol = "kernel"}, 1024);
  device::Buffer buffer(*device, 256);
  char text[16] = "sparse";
  const auto user = driver.user_stream("user");
  device->copy_to_device(buffer.data(), text, 16, user);
  device->fill(user, buffer.data(), 0, 16);
  const std::int64_t argument = 1;
  device->launch(user, *kernel, {.waits_for_previous = true}, &argument, sizeof(argument));
  device->copy_to_host(text, buffer.data(), 16, user);
  static_cast<void>(device->is_device_pointer(buffer.data()));
  static_cast<void>(device->is_capturing(user));
  static_cast<void>(device->occupancy(*kernel, 128, 0));
  device->record([&](Stream stream) { device->launch(stream, *kernel, {}, &argument, sizeof(argument)); })->replay_us();
  device->synchronize(user);
  device->release_behind(buffer.release(), {user, driver.user_stream("other")});
}

/// Calls that give something back: when they fail, the driver still holds it, and nobody is told.
const std::set<std::string> ending_calls = {"cuStreamDestroy_v2", "cuEventDestroy_v2", "cuGraphDestroy",
                                            "cuGraphExecDestroy", "cuMemFree_v2",      "cuMemFreeAsync",
                                            "cuLibraryUnload",    "cuModuleUnload",    "cuDevicePrimaryCtxRelease_v2"};

/// Calls that destructors need before they can give anything back.
const std::set<std::string> scope_calls = {"cuCtxGetCurrent", "cuCtxSetCurrent", "cuThreadExchangeStreamCaptureMode"};

/// How often a failed call was reported with its name, and how often it was absorbed (as in a release, which cannot
/// throw).
struct Tally {
  int reported = 0;
  int absorbed = 0;
};

void fail_once_everywhere(const fake::Controls& driver, const std::string& call, Tally& tally) {
  driver.reset();
  use_everything(driver);
  const int calls = driver.calls(call.c_str());
  for (int after = 0; after < calls; ++after) {
    CAPTURE(call);
    CAPTURE(after);
    driver.reset();
    driver.fail(call.c_str(), after, 1, illegal_address);
    const Caught error = caught([&] { use_everything(driver); });
    if (error.code) {
      ++tally.reported;
      CHECK_MESSAGE((error.says(call + " failed with") && error.says("(700)")), error.message);
      CHECK((error.code == ErrorCode::device_failure || error.code == ErrorCode::no_device));
    } else {
      ++tally.absorbed;
    }
    if (ending_calls.contains(call) || scope_calls.contains(call)) continue;
    for (const char* what : {"memory", "stream", "event", "context", "code", "graph"}) {
      CAPTURE(what);
      CHECK(driver.live(what) == 0);
    }
    CHECK(driver.thread_mode() == device::cuda::CaptureMode::global);
    CHECK(driver.current_context() == nullptr);
  }
}

}  // namespace

TEST_CASE(
    "each driver call may fail at each place: it is reported by name, nothing leaks and the thread is as before") {
  for (const char* file : {"fake_cuda.so", "fake_cuda_old.so"}) {
    FakeDriver driver(file);
    const fake::Controls& controls = *driver.operator->();
    Tally tally;
    const device::cuda::DriverApi api;
#define VOSTOK_FAIL(symbol, ...) fail_once_everywhere(controls, api.symbol.name, tally);
    VOSTOK_DRIVER_FUNCTIONS(VOSTOK_FAIL, VOSTOK_FAIL)
#undef VOSTOK_FAIL
    CHECK(tally.reported > 80);
    CHECK(tally.absorbed > 0);
    driver->reset();
  }
}

TEST_CASE("the driver's out of memory is out_of_memory from every call that can say it") {
  FakeDriver driver;
  for (const char* call : {"cuDevicePrimaryCtxRetain", "cuStreamCreate", "cuMemAllocFromPoolAsync", "cuLibraryLoadData",
                           "cuKernelGetFunction", "cuGraphInstantiateWithFlags", "cuLaunchKernelEx"}) {
    CAPTURE(call);
    driver->reset();
    driver->fail(call, 0, 1, static_cast<unsigned>(device::cuda::Result::out_of_memory));
    CHECK(caught([&] { use_everything(*driver.operator->()); }).code == ErrorCode::out_of_memory);
  }
}

TEST_CASE("an error without a name or text is still told by its number") {
  FakeDriver driver;
  driver->fail("cuDeviceGetCount", 0, 1, 9999);
  const Caught error = caught([] { device::open_cuda(0, {}); });
  CHECK(error.says("cuDeviceGetCount failed with an error without a name (9999)"));
}

TEST_CASE("a missing driver is no_device and counts no GPU, naming what was tried") {
  const VariableScope chosen("VOSTOK_LIBCUDA", "/nonexistent/libcuda.so.1");
  const Caught error = caught([] { device::open_cuda(0, {}); });
  CHECK(error.code == ErrorCode::no_device);
  CHECK(error.says("/nonexistent/libcuda.so.1"));
  std::string why;
  CHECK(device::count_cuda(&why) == 0);
  CHECK(why.find("/nonexistent/libcuda.so.1") != std::string::npos);
  CHECK(device::count_cuda(nullptr) == 0);
}

TEST_CASE("without a choice the loader's libcuda.so.1 is tried") {
  const VariableScope none("VOSTOK_LIBCUDA", std::nullopt);
  const auto search = device::cuda::DriverSearch::run();
  REQUIRE_FALSE(search.findings.empty());
  CHECK(search.findings.front().what == "driver");
  CHECK(search.findings.front().where.find("libcuda.so.1") != std::string::npos);
  CHECK(search.findings.front().state != "");
}

TEST_CASE("a library that lacks the driver's functions is called too old, naming them") {
  const VariableScope chosen("VOSTOK_LIBCUDA", beside_executable("fake_nvrtc.so"));
  const Caught error = caught([] { device::open_cuda(0, {}); });
  CHECK(error.code == ErrorCode::no_device);
  CHECK(error.says("too old"));
  CHECK(error.says("cuLaunchKernelEx"));
}

TEST_CASE("a driver that does not start, lists no GPU or not this one is no_device") {
  FakeDriver driver;
  driver->fail("cuInit", 0, 2, 100);
  CHECK(caught([] { device::open_cuda(0, {}); }).code == ErrorCode::no_device);
  std::string why;
  CHECK(device::count_cuda(&why) == 0);
  CHECK(why.find("cuInit failed with") != std::string::npos);
  CHECK(why.find("forked off") == std::string::npos);
  driver->fail("cuInit", 0, 1, static_cast<unsigned>(device::cuda::Result::not_initialized));
  CHECK(caught([] { device::open_cuda(0, {}); }).says("one that is started by exec can"));

  driver->set("devices", 0);
  const Caught none = caught([] { device::open_cuda(0, {}); });
  CHECK(none.code == ErrorCode::no_device);
  CHECK(none.says("lists no GPU"));
  CHECK(device::count_cuda(&why) == 0);
  CHECK(why.find("lists no GPU") != std::string::npos);

  driver->set("devices", 2);
  CHECK(device::count_cuda(&why) == 2);
  const Caught range = caught([] { device::open_cuda(2, {}); });
  CHECK(range.code == ErrorCode::no_device);
  CHECK(range.says("cannot open cuda:2: the driver lists 2 GPUs, cuda:0 to cuda:1"));
  CHECK(caught([] { device::open_cuda(-1, {}); }).code == ErrorCode::no_device);
}

TEST_CASE("a GPU older than sm_75 is not usable") {
  FakeDriver driver;
  driver->set("capability_major", 7);
  const Caught error = caught([] { device::open_cuda(0, {}); });
  CHECK(error.code == ErrorCode::no_device);
  CHECK(error.says("sm_70 is older than sm_75"));
  std::string why;
  CHECK(device::count_cuda(&why) == 0);
  CHECK(why.find("too old") != std::string::npos);
}

TEST_CASE("the doctor's findings name driver, devices, clocks and NVRTC in that order") {
  FakeDriver driver;
  const auto findings = device::find_cuda({.nvrtc = "/nonexistent/libnvrtc.so.13"});
  REQUIRE(findings.size() == 4);
  CHECK(findings[0].what == "driver");
  CHECK(findings[0].where == driver.path());
  CHECK(findings[0].state == "found, for CUDA 13.0");
  CHECK(findings[0].used);
  CHECK(findings[1].where == "cuda:0");
  CHECK(findings[1].state.find("Fake GPU, sm_90") == 0);
  CHECK(findings[2].what == "clocks");
  CHECK(findings[2].state == "found");
  CHECK(findings[3].what == "nvrtc");
  CHECK(findings[3].state == "not there");
  CHECK_FALSE(findings[3].used);
  driver->fail("cuDeviceGetCount", 0, 1, illegal_address);
  CHECK(device::find_cuda({.nvrtc = "/nonexistent/libnvrtc.so.13"})[1].state.find("cuDeviceGetCount failed") !=
        std::string::npos);
}
