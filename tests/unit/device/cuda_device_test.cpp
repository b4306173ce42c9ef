// The CUDA device over the fake driver: what is asked of the driver, in which order, in which context.
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "unit/device/cuda_fixture.hpp"

using namespace vostok;
using namespace vostok::test;
using device::cuda::CaptureMode;
using device::cuda::CaptureStatus;

namespace {

device::Image image_of(const std::string& symbol = "kernel", int argument_bytes = 8) {
  return {.binary = "FAKE " + symbol + " " + std::to_string(argument_bytes), .symbol = symbol};
}

struct Arguments {
  int first = 7;
  int second = 8;
};

}  // namespace

TEST_CASE("a CUDA device tells what the driver says about it") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const DeviceInfo& info = device->info();
  CHECK(info.name == "Fake GPU");
  CHECK(info.uuid == "GPU-ab010203-0405-0607-0809-0a0b0c0d0e0f");
  CHECK(info.architecture == "sm_90");
  CHECK(info.gpu);
  CHECK(info.multiprocessors == 132);
  CHECK(info.clock_mhz == 1980);
  CHECK(info.memory_clock_mhz == 3201);
  CHECK(info.memory_bytes == std::int64_t{1} << 30);
  CHECK(info.l2_bytes == 60 << 20);
  CHECK(info.driver == "13.0");
  CHECK(info.peak_fp32_gflops == doctest::Approx(132 * 128 * 2 * 1.98));
  CHECK(info.peak_bandwidth_gb == doctest::Approx(6144.0 / 8 * 3.201 * 2));
  CHECK(device->max_shared_bytes() == 232'448);
  CHECK(device->shared_bytes_per_multiprocessor() == 233'472);
  CHECK(device->registers_per_multiprocessor() == 65'536);
  CHECK(device->threads_per_multiprocessor() == 2048);
}

TEST_CASE("a launch passes shape, stream and arguments, with one context query and no other call") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const auto kernel = device->load(image_of(), 1024);
  const auto stream = driver->user_stream("user");
  driver->set_current_context(driver->make_context(0));
  const device::LaunchShape shape{
      .grid = {.x = 3, .y = 4, .z = 5}, .block = {.x = 32, .y = 2, .z = 1}, .shared_bytes = 1024};
  const Arguments arguments;
  device->launch(stream, *kernel, shape, &arguments, sizeof(arguments));

  const fake::Launch launch = driver->last_launch();
  CHECK(launch.config.grid_x == 3);
  CHECK(launch.config.grid_y == 4);
  CHECK(launch.config.grid_z == 5);
  CHECK(launch.config.block_x == 32);
  CHECK(launch.config.block_y == 2);
  CHECK(launch.config.block_z == 1);
  CHECK(launch.config.shared_bytes == 1024);
  CHECK(launch.config.stream == stream);
  CHECK(launch.config.attribute_count == 0);
  CHECK(launch.first_argument == 7);
  CHECK(launch.context != driver->make_context(0));
  CHECK_MESSAGE(driver->current_context() == driver->make_context(0), "the caller's context is restored");

  driver->set_current_context(launch.context);
  const std::size_t before = std::strlen(driver->log());
  device->launch(stream, *kernel, shape, &arguments, sizeof(arguments));
  CHECK(std::string(driver->log() + before) == "cuCtxGetCurrent\ncuLaunchKernelEx user\n");
  driver->set_current_context(nullptr);
}

TEST_CASE("a launch that waits for the previous one says so to the driver, and not before sm_90") {
  FakeDriver driver;
  for (const int capability : {8, 9}) {
    driver->set("capability_major", capability);
    const auto device = device::open_cuda(0, {});
    const auto kernel = device->load(image_of(), 0);
    const Arguments arguments;
    device->launch(nullptr, *kernel, {.waits_for_previous = true}, &arguments, sizeof(arguments));
    const fake::Launch launch = driver->last_launch();
    REQUIRE(launch.config.attribute_count == (capability == 9 ? 1 : 0));
    if (capability == 9) {
      CHECK(launch.attributes[0].id == device::cuda::LaunchAttributeId::programmatic_stream_serialization);
      CHECK(launch.attributes[0].value.programmatic_stream_serialization_allowed == 1);
    }
  }
}

TEST_CASE("a launch of clusters says how many blocks along y each has, beside that it waits for the previous one") {
  FakeDriver driver;
  driver->set("capability_major", 9);
  const auto device = device::open_cuda(0, {});
  const auto kernel = device->load(image_of(), 0);
  const Arguments arguments;
  for (const bool waits : {false, true}) {
    CAPTURE(waits);
    device->launch(nullptr, *kernel, {.grid = {5, 8, 1}, .waits_for_previous = waits, .cluster = 4}, &arguments,
                   sizeof(arguments));
    const fake::Launch launch = driver->last_launch();
    REQUIRE(launch.config.attribute_count == (waits ? 2 : 1));
    const device::cuda::LaunchAttribute& last = launch.attributes[waits ? 1 : 0];
    CHECK(last.id == device::cuda::LaunchAttributeId::cluster_dimension);
    CHECK(last.value.cluster_dimension.x == 1);
    CHECK(last.value.cluster_dimension.y == 4);
    CHECK(last.value.cluster_dimension.z == 1);
  }
}

TEST_CASE("arguments of another size than the kernel's parameter are refused") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const auto kernel = device->load(image_of("kernel", 24), 0);
  const Arguments arguments;
  const Caught error = caught([&] { device->launch(nullptr, *kernel, {}, &arguments, sizeof(arguments)); });
  CHECK(error.code == ErrorCode::internal);
  CHECK(error.says("24 bytes"));
  CHECK(driver->calls("cuLaunchKernelEx") == 0);
}

TEST_CASE("kernels are loaded eagerly, with libraries where the driver has them and modules where not") {
  for (const bool old : {false, true}) {
    CAPTURE(old);
    FakeDriver driver(old ? "fake_cuda_old.so" : "fake_cuda.so");
    const auto device = device::open_cuda(0, {});
    const auto kernel = device->load(image_of(), 100'000);
    CHECK(driver->live("code") == 1);
    CHECK(driver->calls("cuFuncSetAttribute") == 1);
    CHECK(driver->calls("cuLibraryLoadData") == (old ? 0 : 1));
    CHECK(driver->calls("cuKernelGetFunction") == (old ? 0 : 1));
    CHECK(driver->calls("cuFuncLoad") == (old ? 0 : 1));
    CHECK(driver->calls("cuModuleLoadDataEx") == (old ? 1 : 0));
    const Arguments arguments;
    device->launch(nullptr, *kernel, {}, &arguments, sizeof(arguments));
    CHECK(driver->last_launch().first_argument == 7);
    CHECK(device->occupancy(*kernel, 256, 0) == 8);
  }
}

TEST_CASE("a refused image is a device failure with the driver's name, text and log, and leaves the device usable") {
  for (const char* file : {"fake_cuda.so", "fake_cuda_old.so"}) {
    FakeDriver driver(file);
    const auto device = device::open_cuda(0, {});
    const Caught error = caught([&] { device->load({.binary = "damaged", .symbol = "kernel"}, 0); });
    CHECK(error.code == ErrorCode::device_failure);
    CHECK(error.says("CUDA_ERROR_INVALID_IMAGE (200): device kernel image is invalid"));
    CHECK(error.says("the fake knows no such image"));
    const Caught missing = caught([&] { device->load({.binary = "FAKE other 8", .symbol = "kernel"}, 0); });
    CHECK(missing.code == ErrorCode::device_failure);
    const Caught shared = caught([&] { device->load(image_of(), 1 << 20); });
    CHECK(shared.says("1048576 bytes of shared memory"));
    CHECK(driver->live("code") == 0);
    CHECK(device->load(image_of(), 0) != nullptr);
  }
}

TEST_CASE("a kernel outlives its device") {
  FakeDriver driver;
  auto device = device::open_cuda(0, {});
  auto kernel = device->load(image_of(), 0);
  device.reset();
  CHECK(driver->live("context") == 1);
  kernel.reset();
  CHECK(driver->live("context") == 0);
}

TEST_CASE("copies run on the library's own stream, behind an event on the given stream, and return when done") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  device::Buffer buffer(*device, 64);
  const auto user = driver->user_stream("user");
  const std::string text = "sparse";
  std::string back(text.size(), ' ');
  const std::size_t before = std::strlen(driver->log());
  device->copy_to_device(buffer.data(), text.data(), static_cast<std::int64_t>(text.size()), user);
  device->copy_to_host(back.data(), buffer.data(), static_cast<std::int64_t>(text.size()), user);
  CHECK(back == text);
  const std::string log(driver->log() + before);
  const auto at = [&](const char* line) { return log.find(line); };
  CHECK(at("cuEventRecord user") < at("cuStreamWaitEvent own1"));
  CHECK(at("cuStreamWaitEvent own1") < at("cuMemcpyHtoDAsync_v2 own1"));
  CHECK(at("cuMemcpyHtoDAsync_v2 own1") < at("cuStreamSynchronize own1"));
  CHECK(at("cuStreamSynchronize own1") < at("cuMemcpyDtoHAsync_v2 own1"));
  CHECK(log.find("legacy") == std::string::npos);
}

TEST_CASE("a copy without a stream, or behind a captured one, records nothing on it") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  device::Buffer buffer(*device, 4);
  const int value = 3;
  device->copy_to_device(buffer.data(), &value, 4, nullptr);
  const auto user = driver->user_stream("user");
  driver->capture(user, CaptureStatus::active);
  device->copy_to_device(buffer.data(), &value, 4, user);
  CHECK(driver->calls("cuEventRecord") == 0);
  CHECK_FALSE(driver.logged("legacy"));
}

TEST_CASE("the legacy stream and the thread's default stream are waited for where they are given by their handles") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  device::Buffer buffer(*device, 4);
  const int value = 3;
  int back = 0;
  for (const auto& [stream, name] : {std::pair(legacy_stream, "legacy"), std::pair(per_thread_stream, "per thread")}) {
    CAPTURE(name);
    const std::string recorded = std::string("cuEventRecord ") + name;
    const auto check_waited = [&](const std::function<void()>& action) {
      const std::size_t before = std::strlen(driver->log());
      action();
      const std::string log(driver->log() + before);
      REQUIRE(log.find(recorded) != std::string::npos);
      CHECK(log.find(recorded) < log.find("cuStreamWaitEvent own1"));
      CHECK_MESSAGE(log.find(std::string("cuStreamSynchronize ") + name) == std::string::npos,
                    "the host waits for the own stream alone");
    };
    check_waited([&] { device->wait_for(stream); });
    check_waited([&] { device->copy_to_device(buffer.data(), &value, 4, stream); });
    check_waited([&] { device->copy_to_host(&back, buffer.data(), 4, stream); });
    CHECK_FALSE(device->is_capturing(stream));
  }
  CHECK(back == value);
}

TEST_CASE("while a blocking stream is captured the legacy stream is refused, and that capture goes on") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  device::Buffer buffer(*device, 4);
  const int value = 3;
  const auto user = driver->user_stream("user");
  driver->capture(user, CaptureStatus::active);
  const Caught refused = caught([&] { device->copy_to_device(buffer.data(), &value, 4, legacy_stream); });
  CHECK(refused.code == ErrorCode::capture_active);
  CHECK(refused.says("cannot wait for the legacy stream: a blocking stream is being captured"));
  CHECK(caught([&] { device->wait_for(legacy_stream); }).code == ErrorCode::capture_active);
  CHECK_MESSAGE(driver->calls("cuEventRecord") == 0, "a record would end the capture");
  CHECK_MESSAGE(!device->is_capturing(legacy_stream), "nothing can be captured on it");
  device->wait_for(nullptr);
  device->wait_for(per_thread_stream);

  driver->capture(user, CaptureStatus::none);
  device->wait_for(legacy_stream);
  CHECK(driver.logged("cuEventRecord legacy"));
  // A capture that begins between the question and the record.
  driver->fail("cuEventRecord", 0, 1, static_cast<unsigned>(device::cuda::Result::capture_implicit));
  CHECK(caught([&] { device->wait_for(legacy_stream); }).code == ErrorCode::capture_active);
  driver->capture(per_thread_stream, CaptureStatus::active);
  CHECK(device->is_capturing(per_thread_stream));
}

TEST_CASE("the library allocates, loads, copies and releases while another thread captures in global mode") {
  FakeDriver driver;
  {
    const auto device = device::open_cuda(0, {});
    driver->global_capture(true);
    device::Buffer buffer(*device, 4);
    const int value = 3;
    device->copy_to_device(buffer.data(), &value, 4, nullptr);
    const auto kernel = device->load(image_of(), 0);
    const auto sequence = device->record([&](Stream stream) { device->fill(stream, buffer.data(), 0, 4); });
    CHECK(sequence->replay_us() == doctest::Approx(250));
    CHECK(device->occupancy(*kernel, 128, 0) == 16);
    device->synchronize(driver->user_stream("user"));
    CHECK(driver->thread_mode() == CaptureMode::global);
  }
  driver->global_capture(false);
}

TEST_CASE("the state of a stream's capture is told, and another stream's capture is not taken for it") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const auto user = driver->user_stream("user");
  CHECK_FALSE(device->is_capturing(user));
  driver->capture(user, CaptureStatus::active);
  CHECK(device->is_capturing(user));
  driver->capture(user, CaptureStatus::invalidated);
  CHECK(device->is_capturing(user));
  driver->fail("cuStreamIsCapturing", 0, 1, static_cast<unsigned>(device::cuda::Result::capture_implicit));
  CHECK_FALSE(device->is_capturing(nullptr));
  driver->fail("cuStreamIsCapturing", 0, 1, static_cast<unsigned>(device::cuda::Result::invalid_handle));
  CHECK(caught([&] { device->is_capturing(user); }).code == ErrorCode::device_failure);
}

TEST_CASE("device pointers are told from host pointers") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const device::Buffer buffer(*device, 16);
  int host = 0;
  CHECK(device->is_device_pointer(buffer.data()));
  CHECK_FALSE(device->is_device_pointer(&host));
  CHECK_FALSE(device->is_device_pointer(nullptr));
}

TEST_CASE("what a recording throws is passed on and ends the capture") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  CHECK_THROWS_WITH_AS(device->record([](Stream) { throw std::runtime_error("no such launch"); }), "no such launch",
                       std::runtime_error);
  CHECK(driver->calls("cuStreamEndCapture") == 1);
  CHECK(driver->calls("cuGraphDestroy") == 1);
}

TEST_CASE("a given context is lived in, not retained, and must be of the device") {
  FakeDriver driver;
  driver->set("devices", 2);
  const auto context = driver->make_context(1);
  {
    const auto device = device::open_cuda(1, {.cuda_context = context});
    CHECK(driver->live("context") == 0);
    const auto kernel = device->load(image_of(), 0);
    const Arguments arguments;
    device->launch(nullptr, *kernel, {}, &arguments, sizeof(arguments));
    CHECK(driver->last_launch().context == context);
    CHECK(driver->current_context() == nullptr);
  }
  CHECK(device::open_cuda(-1, {.cuda_context = context}) != nullptr);
  const Caught error = caught([&] { device::open_cuda(0, {.cuda_context = context}); });
  CHECK(error.code == ErrorCode::wrong_device);
  CHECK(error.says("device 1"));
}

TEST_CASE("clocks come from NVML, and are absent without it") {
  FakeDriver driver;
  {
    const auto device = device::open_cuda(0, {});
    const auto clocks = device->clocks();
    REQUIRE(clocks.has_value());
    CHECK(clocks->sm_mhz == 1755);
    CHECK(clocks->memory_mhz == 3201);
    driver->fail("nvmlDeviceGetClockInfo", 0, 1, 3);
    CHECK_FALSE(device->clocks().has_value());
  }
  CHECK(driver->calls("nvmlShutdown") == 1);
  const VariableScope missing("VOSTOK_LIBNVML", "/nonexistent/libnvidia-ml.so.1");
  CHECK_FALSE(device::open_cuda(0, {})->clocks().has_value());
}

TEST_CASE("threads launch side by side, each with its own context restored") {
  FakeDriver driver;
  const auto device = device::open_cuda(0, {});
  const auto kernel = device->load(image_of(), 0);
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) {
      const Arguments arguments;
      device->launch(nullptr, *kernel, {}, &arguments, sizeof(arguments));
      device::Buffer buffer(*device, 16);
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(driver->calls("cuLaunchKernelEx") == 400);
  CHECK(driver->current_context() == nullptr);
}
