// Cold operands: calls cycle through more copies than the cache holds, or a flush pushes everything out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "tune/case.hpp"

namespace vostok::tune {

/// Bytes that evict everything else from the last-level cache: over 220 MB, and over three times its size.
std::int64_t cold_bytes(const DeviceInfo& device);

/// The number of copies of `bytes` that exceeds `cold_bytes` in all, at least two: used in turn, each is
/// evicted before its next turn.
std::int64_t copies_past(std::int64_t cold_bytes, std::int64_t bytes);

/// A function that makes one of `calls` each time, in turn. There must be at least one.
std::function<void(Stream)> in_turn(std::vector<std::function<void(Stream)>> calls);

/// Records a write of cold_bytes() on a GPU, after which the cache holds no operand; of little on the
/// emulator, whose times mean nothing.
std::shared_ptr<device::TimedSequence> record_flush(device::Device& device);

/// A second set of a case's operands and outputs, in its own memory.
class OperandCopy {
 public:
  /// Errors: out_of_memory.
  OperandCopy(device::Device& device, const Case& original);
  /// Makes launch arguments that point to the case's operands point to this copy.
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
