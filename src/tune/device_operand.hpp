// An input in device memory, with exactly the alignment that its problem declares, and nothing after its last element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "sparse/elements.hpp"

namespace vostok::tune {

/// Bytes by which to shift an operand from a multiple of 256, so that its alignment is no better than declared.
inline std::int64_t shift_bytes(int alignment_bytes) { return alignment_bytes < 16 ? alignment_bytes : 0; }

/// Values as their type stores them, to device memory.
inline void copy_values(device::Device& device, void* to, Dtype type, std::span<const float> values) {
  const std::vector<std::byte> bytes = sparse::to_storage(type, values);
  if (!bytes.empty()) device.copy_to_device(to, bytes.data(), std::ssize(bytes));
}

class DeviceOperand {
 public:
  DeviceOperand() = default;
  DeviceOperand(device::Device& device, std::span<const std::byte> bytes, int alignment_bytes)
      : shift_(shift_bytes(alignment_bytes)), buffer_(device, shift_ + static_cast<std::int64_t>(bytes.size())) {
    if (!bytes.empty()) device.copy_to_device(data(), bytes.data(), static_cast<std::int64_t>(bytes.size()));
  }
  std::int64_t bytes() const { return std::max<std::int64_t>(buffer_.bytes() - shift_, 0); }
  void* data() const { return buffer_.as<std::byte>() + shift_; }

 private:
  std::int64_t shift_ = 0;
  device::Buffer buffer_;
};

}  // namespace vostok::tune
