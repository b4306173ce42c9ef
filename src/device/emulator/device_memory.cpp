#include "device/emulator/device_memory.hpp"

#include <cstring>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "device/emulator/sanitizer.hpp"
#include "device/user_memory.hpp"

namespace vostok::device::emulator {

void* DeviceMemory::allocate(std::int64_t bytes) {
  if (bytes < 0) fail(ErrorCode::invalid_argument, "cannot allocate device memory: bytes = {}", bytes);
  if (allocator_ && bytes == 0) return nullptr;
  require_room(bytes);
  // Without the lock: the user's allocator may call back.
  Allocation allocation{.bytes = bytes, .pages = {}};
  void* const begin = allocator_ ? allocate_from_user(*allocator_, bytes) : map(bytes, allocation.pages);
  std::memset(begin, 0xff, static_cast<std::size_t>(bytes));
  const std::lock_guard lock(mutex_);
  live_.emplace(reinterpret_cast<std::uintptr_t>(begin), std::move(allocation));
  live_bytes_ += bytes;
  return begin;
}

void DeviceMemory::require_room(std::int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  if (bytes > capacity_bytes_ - live_bytes_)
    fail(ErrorCode::out_of_memory, "cannot allocate {} bytes of device memory: {} of {} bytes are in use", bytes,
         live_bytes_, capacity_bytes_);
}

unsigned char* DeviceMemory::map(std::int64_t bytes, Pages& pages) const {
  const auto page = static_cast<std::int64_t>(page_bytes());
  const auto used = static_cast<std::size_t>(round_up(bytes, page));
  pages = Pages(used + 2 * page_bytes());
  if (!pages || !pages.open(page_bytes(), used))
    fail(ErrorCode::out_of_memory, "cannot allocate {} bytes of device memory: the system has none left", bytes);
  unsigned char* const first = pages.begin() + page_bytes();
  unsigned char* const begin = guard_ == Guard::start ? first : first + used - round_up(bytes, 16);
  sanitizer::forbid(pages.begin(), pages.bytes());
  sanitizer::permit(begin, static_cast<std::size_t>(bytes));
  return begin;
}

void DeviceMemory::release(void* memory) noexcept {
  if (memory == nullptr) return;
  Live::node_type gone;  // goes without the lock: the user's allocator may call back
  {
    const std::lock_guard lock(mutex_);
    gone = live_.extract(reinterpret_cast<std::uintptr_t>(memory));
    if (!gone) return;
    live_bytes_ -= gone.mapped().bytes;
  }
  if (!gone.mapped().pages) allocator_->release(memory);
}

bool DeviceMemory::contains(const void* pointer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::lock_guard lock(mutex_);
  auto position = live_.upper_bound(address);
  if (position == live_.begin()) return false;
  --position;
  return address - position->first < static_cast<std::uintptr_t>(position->second.bytes);
}

}  // namespace vostok::device::emulator
