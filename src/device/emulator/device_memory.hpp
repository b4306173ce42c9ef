// The emulator's device memory: each allocation borders an inaccessible page, and starts as NaN.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "device/device.hpp"
#include "device/emulator/pages.hpp"
#include "device/emulator/settings.hpp"

namespace vostok::device::emulator {

/// Thread-safe.
class DeviceMemory {
 public:
  DeviceMemory(Guard guard, std::shared_ptr<Allocator> allocator, std::int64_t capacity_bytes)
      : guard_(guard), allocator_(std::move(allocator)), capacity_bytes_(capacity_bytes) {}

  /// With Guard::end the memory ends within 15 bytes of the guard, so that it is 256-byte aligned only if `bytes` is a
  /// multiple of 256, else 16-byte aligned. A user's allocator has no guards. Errors: out_of_memory, invalid_argument
  /// (misaligned memory of the user's allocator).
  void* allocate(std::int64_t bytes);
  void release(void* memory) noexcept;
  bool contains(const void* pointer) const;

 private:
  struct Allocation {
    std::int64_t bytes = 0;
    Pages pages;  ///< absent if the user's allocator provided the memory
  };

  using Live = std::map<std::uintptr_t, Allocation>;

  void require_room(std::int64_t bytes) const;
  unsigned char* map(std::int64_t bytes, Pages& pages) const;

  Guard guard_;
  std::shared_ptr<Allocator> allocator_;
  std::int64_t capacity_bytes_;
  mutable std::mutex mutex_;
  Live live_;
  std::int64_t live_bytes_ = 0;
};

}  // namespace vostok::device::emulator
