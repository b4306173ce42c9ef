// A device whose launches take the time that a test says: for the tuner's logic.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "device/device.hpp"

namespace vostok::test {

class FakeDevice : public device::Device {
 public:
  /// What every replay of a launch adds, in microseconds; the hook may change it over time.
  std::function<double(int launch)> cost_us = [](int) { return 1.0; };
  std::optional<device::Clocks> clocks_now = std::nullopt;
  int replays = 0;
  std::function<void()> on_replay = {};

  /// Called by a test's enqueue functions: launch number `launch`.
  void note(int launch) { recording_.push_back(launch); }

  std::unique_ptr<device::TimedSequence> record(const std::function<void(Stream)>& enqueue) override {
    recording_.clear();
    enqueue(nullptr);
    return std::make_unique<Sequence>(*this, std::move(recording_));
  }
  std::optional<device::Clocks> clocks() const override { return clocks_now; }

  const DeviceInfo& info() const override { return info_; }
  int max_shared_bytes() const override { return 100'000; }
  int shared_bytes_per_multiprocessor() const override { return 100'000; }
  int registers_per_multiprocessor() const override { return 65'536; }
  int threads_per_multiprocessor() const override { return 2048; }
  const device::Compiler& compiler() const override { unused("compiler"); }
  std::shared_ptr<const device::Kernel> load(const device::Image&, std::int64_t) override { unused("load"); }
  void launch(Stream, const device::Kernel&, const device::LaunchShape&, const void*, std::size_t) const override { unused("launch"); }
  void fill(Stream, void*, int, std::int64_t) const override { unused("fill"); }
  void* allocate(std::int64_t) override { unused("allocate"); }
  void release_behind(void*, const std::vector<Stream>&) noexcept override {}
  void copy_to_device(void*, const void*, std::int64_t, Stream) override { unused("copy_to_device"); }
  void copy_to_host(void*, const void*, std::int64_t, Stream) override { unused("copy_to_host"); }
  bool is_device_pointer(const void*) const override { return false; }
  bool is_capturing(Stream) const override { return false; }
  void synchronize(Stream) const override {}
  Stream own_stream() const override { return nullptr; }
  int occupancy(const device::Kernel&, int, std::int64_t) const override { return 1; }

 private:
  class Sequence : public device::TimedSequence {
   public:
    Sequence(FakeDevice& device, std::vector<int> launches) : device_(device), launches_(std::move(launches)) {}
    double replay_us() override {
      ++device_.replays;
      if (device_.on_replay) device_.on_replay();
      double total = 0;
      for (const int launch : launches_) total += device_.cost_us(launch);
      return total;
    }

   private:
    FakeDevice& device_;
    std::vector<int> launches_;
  };

  [[noreturn]] static void unused(const char* what) { fail(ErrorCode::internal, "the fake device has no {}", what); }

  DeviceInfo info_{.name = "fake"};
  std::vector<int> recording_;
};

}  // namespace vostok::test
