// Floats in device memory, written and read by the host.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.hpp"

namespace vostok::models {

class Floats {
 public:
  Floats(device::Device& device, std::size_t count)
      : device_(&device), buffer_(device, static_cast<std::int64_t>(count * sizeof(float))), count_(count) {}
  Floats(device::Device& device, const std::vector<float>& values) : Floats(device, values.size()) { write(values); }

  float* data() const { return buffer_.as<float>(); }
  /// As many as there are.
  void write(const std::vector<float>& values) {
    if (count_ > 0) device_->copy_to_device(buffer_.data(), values.data(), buffer_.bytes());
  }
  std::vector<float> read(Stream after = nullptr) const {
    std::vector<float> values(count_);
    if (count_ > 0) device_->copy_to_host(values.data(), buffer_.data(), buffer_.bytes(), after);
    return values;
  }

 private:
  device::Device* device_;
  device::Buffer buffer_;
  std::size_t count_;
};

}  // namespace vostok::models
