// Operands that are not in the cache: so many copies of them, taken in turn, that it cannot hold them, or what pushes everything out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "tune/case.hpp"

namespace vostok::tune {

/// Whoever touches this much leaves nothing else in the last-level cache: over 220 MB, and over three times that cache.
std::int64_t cold_bytes(const DeviceInfo& device);

/// Copies of `bytes` that take more than `cold_bytes` together, two at least: taken in turn, each is gone when its turn comes again.
std::int64_t copies_past(std::int64_t cold_bytes, std::int64_t bytes);

/// Each call makes the next of `calls`, and the first after the last. There must be one.
std::function<void(Stream)> in_turn(std::vector<std::function<void(Stream)>> calls);

/// What a replay touches so that the next finds no operand in the cache: cold_bytes() on a GPU, little on the emulator, which times nothing.
std::shared_ptr<device::TimedSequence> record_flush(device::Device& device);

/// A case's operands and outputs once more, in memory of their own.
class OperandCopy {
 public:
  /// Errors: out_of_memory.
  OperandCopy(device::Device& device, const Case& original);
  /// Launch arguments that point to the case's operands then point to these.
  void redirect(std::byte* arguments) const;

 private:
  struct Moved {
    CaseOperand from;
    device::Buffer buffer;
    void* to = nullptr;
  };
  std::vector<Moved> moved_;
};

}  // namespace vostok::tune
