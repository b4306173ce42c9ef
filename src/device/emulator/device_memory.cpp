#include "device/emulator/device_memory.hpp"

#include <cstring>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {

void* DeviceMemory::allocate(std::int64_t bytes) {
  if (bytes < 0) fail(ErrorCode::invalid_argument, "cannot allocate device memory: bytes = {}", bytes);
  const std::lock_guard lock(mutex_);
  unsigned char* begin = nullptr;
  Allocation allocation{.bytes = bytes, .pages = {}};
  if (bytes <= capacity_bytes_ - live_bytes_)
    begin = allocator_ ? static_cast<unsigned char*>(allocator_->allocate(bytes)) : map(bytes, allocation.pages);
  if (begin == nullptr)
    fail(ErrorCode::out_of_memory, "cannot allocate {} bytes of device memory: {} of {} bytes are in use", bytes, live_bytes_, capacity_bytes_);
  std::memset(begin, 0xff, static_cast<std::size_t>(bytes));
  live_.emplace(reinterpret_cast<std::uintptr_t>(begin), std::move(allocation));
  live_bytes_ += bytes;
  return begin;
}

unsigned char* DeviceMemory::map(std::int64_t bytes, Pages& pages) const {
  const auto page = static_cast<std::int64_t>(page_bytes());
  const auto used = static_cast<std::size_t>(round_up(bytes, page));
  pages = Pages(used + 2 * page_bytes());
  if (!pages || !pages.open(page_bytes(), used)) return nullptr;
  unsigned char* const first = pages.begin() + page_bytes();
  unsigned char* const begin = guard_ == Guard::start ? first : first + used - round_up(bytes, 16);
  sanitizer::forbid(pages.begin(), pages.bytes());
  sanitizer::permit(begin, static_cast<std::size_t>(bytes));
  return begin;
}

void DeviceMemory::release(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto position = live_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (position == live_.end()) return;
  live_bytes_ -= position->second.bytes;
  if (!position->second.pages) allocator_->release(memory);
  live_.erase(position);
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
