// The devices that the tests run on: the emulator always, and every GPU that is there.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

#include <vostok/vostok.hpp>

#include "context_state.hpp"
#include "device/device.hpp"
#include "error_code.hpp"
#include "sparse/csr.hpp"
#include "sparse/generate.hpp"

namespace vostok::test {

/// "emulator", "cuda:0", ...; says once why there is no GPU.
inline const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list = {"emulator"};
    std::string why;
    const int count = device::count_cuda(&why);
    for (int i = 0; i < count; ++i) list.push_back("cuda:" + std::to_string(i));
    if (count == 0) std::printf("GPU part skipped: %s\n", why.c_str());
    return list;
  }();
  return names;
}

/// A context without a cache on disk.
inline Context memory_context(const std::string& device) {
  return Context(Options{.device = device, .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});
}

inline device::Device& device_of(const Context& context) { return context.state()->session->device(); }

/// Device memory holding floats.
class Floats {
 public:
  Floats(device::Device& device, const std::vector<float>& values) : device_(&device), buffer_(device, bytes_of(values)), count_(values.size()) {
    if (!values.empty()) device.copy_to_device(buffer_.data(), values.data(), bytes_of(values));
  }
  float* data() const { return buffer_.as<float>(); }
  std::vector<float> read(Stream after = nullptr) const {
    std::vector<float> values(count_);
    if (count_ > 0) device_->copy_to_host(values.data(), buffer_.data(), bytes_of(values), after);
    return values;
  }

 private:
  static std::int64_t bytes_of(const std::vector<float>& values) { return static_cast<std::int64_t>(values.size() * sizeof(float)); }
  device::Device* device_;
  device::Buffer buffer_;
  std::size_t count_;
};

}  // namespace vostok::test
