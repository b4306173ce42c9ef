// A device in host memory whose compiler, loader and launches do what a test says: for the logic above devices.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "device/device.hpp"

namespace vostok::test {

/// "Compiles" every source to a binary that is its expression.
class FakeCompiler : public device::Compiler {
 public:
  mutable std::atomic<int> compiles = 0;
  std::function<void(const device::Source&)> on_compile = [](const device::Source&) {};
  std::int64_t spill_bytes = 0;

  std::string identity() const override { return "fake compiler 1"; }
  std::vector<std::string> options() const override { return {"-fake"}; }
  bool identity_in_key() const override { return false; }
  device::Image compile(const device::Source& source) const override {
    ++compiles;
    on_compile(source);
    return {.binary = source.expression, .symbol = "fake", .registers = 32, .spill_bytes = spill_bytes};
  }
};

struct FakeKernel : device::Kernel {
  explicit FakeKernel(std::string binary) : code(std::move(binary)) {}
  std::string code;
};

class FakeDevice : public device::Device {
 public:
  FakeDevice() {
    info_.name = "fake";
    info_.uuid = "fake-0";
    info_.architecture = "sm_90";
    info_.multiprocessors = 132;
  }

  /// Else its answers are those of no GPU, whatever it compiles for.
  void be_a_gpu() { info_.gpu = true; }

  FakeCompiler fake_compiler;
  /// What one launch noted as `launch` costs in a replay, in microseconds.
  std::function<double(int launch)> cost_us = [](int) { return 1.0; };
  std::optional<device::Clocks> clocks_now = std::nullopt;
  int replays = 0;
  std::function<void()> on_replay = [] {};
  std::function<void(const device::Image&)> on_load = [](const device::Image&) {};
  mutable std::atomic<int> launches = 0;
  std::function<void(const FakeKernel&)> on_launch = [](const FakeKernel&) {};
  std::function<void(const device::LaunchShape&)> on_shape = [](const device::LaunchShape&) {};
  std::function<void(const void*, std::size_t)> on_arguments = [](const void*, std::size_t) {};
  std::atomic<int> allocations_alive = 0;
  std::function<void(std::int64_t bytes)> on_allocate = [](std::int64_t) {};
  bool capturing = false;
  bool tensor_maps = true;
  std::function<void(TensorMap&)> on_map = [](TensorMap&) {};

  /// Called by a test's enqueue functions: launch number `launch`.
  void note(int launch) { recording_.push_back(launch); }

  std::unique_ptr<device::TimedSequence> record(const std::function<void(Stream)>& enqueue) override {
    recording_.clear();
    enqueue(nullptr);
    return std::make_unique<Sequence>(*this, std::move(recording_));
  }
  std::optional<device::Clocks> clocks() const override { return clocks_now; }

  const DeviceInfo& info() const override { return info_; }
  int max_shared_bytes() const override { return 232'448; }
  int shared_bytes_per_multiprocessor() const override { return 233'472; }
  int registers_per_multiprocessor() const override { return 65'536; }
  int threads_per_multiprocessor() const override { return 2048; }
  const device::Compiler& compiler() const override { return fake_compiler; }
  std::shared_ptr<const device::Kernel> load(const device::Image& image, std::int64_t) override {
    on_load(image);
    return std::make_shared<FakeKernel>(image.binary);
  }
  void launch(Stream, const device::Kernel& kernel, const device::LaunchShape& shape, const void* arguments,
              std::size_t bytes) const override {
    ++launches;
    on_shape(shape);
    on_arguments(arguments, bytes);
    on_launch(static_cast<const FakeKernel&>(kernel));
  }
  bool has_tensor_maps() const override { return tensor_maps; }
  void make_map(TensorMap& map) const override { on_map(map); }
  void fill(Stream, void* memory, int value, std::int64_t bytes) const override {
    std::memset(memory, value, static_cast<std::size_t>(bytes));
  }
  void* allocate(std::int64_t bytes) override {
    on_allocate(bytes);
    ++allocations_alive;
    return std::calloc(static_cast<std::size_t>(bytes + 1), 1);
  }
  void release_behind(void* memory, const std::vector<Stream>&) noexcept override {
    if (memory != nullptr) --allocations_alive;
    std::free(memory);
  }
  void copy_to_device(void* destination, const void* source, std::int64_t bytes, Stream) override {
    std::memcpy(destination, source, static_cast<std::size_t>(bytes));
  }
  void copy_to_host(void* destination, const void* source, std::int64_t bytes, Stream) override {
    std::memcpy(destination, source, static_cast<std::size_t>(bytes));
  }
  bool is_device_pointer(const void*) const override { return false; }
  bool is_capturing(Stream) const override { return capturing; }
  void synchronize(Stream) const override {}
  void wait_for(Stream) const override {}
  Stream own_stream() const override { return nullptr; }
  int occupancy(const device::Kernel&, int, std::int64_t) const override { return 1; }

 private:
  class Sequence : public device::TimedSequence {
   public:
    Sequence(FakeDevice& device, std::vector<int> launches) : device_(device), launches_(std::move(launches)) {}
    double replay_us() override {
      ++device_.replays;
      device_.on_replay();
      double total = 0;
      for (const int launch : launches_) total += device_.cost_us(launch);
      return total;
    }

   private:
    FakeDevice& device_;
    std::vector<int> launches_;
  };

  DeviceInfo info_;
  std::vector<int> recording_;
};

}  // namespace vostok::test
