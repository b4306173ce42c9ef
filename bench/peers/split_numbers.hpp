// f32 numbers as sums of two f16: what a dense product of three f16 products needs of B at every call, on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace vostok::bench {

class NumberSplitter {
 public:
  /// Compiles its kernels. Errors: no_compiler, compile_failed.
  explicit NumberSplitter(device::Device& device);

  /// `numbers` at a time: 1 or 4.
  static device::Source source(const std::string& architecture, int numbers);

  /// Queues target[i] = target[2 count + i] = hi, the f16 next to source[i], and target[count + i] = f16(source[i] -
  /// hi).
  void enqueue(Stream stream, const float* source, std::int64_t count, std::uint16_t* target) const;

 private:
  device::Device& device_;
  std::vector<std::shared_ptr<const device::Kernel>> kernels_;  ///< a number at a time, four at a time
};

}  // namespace vostok::bench
