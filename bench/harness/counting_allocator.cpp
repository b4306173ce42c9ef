#include "bench/harness/counting_allocator.hpp"

#include <cstdlib>

namespace vostok::bench {

namespace {

constexpr std::size_t alignment_bytes = 256;

}  // namespace

void* CountingAllocator::allocate(std::int64_t bytes) {
  void* const memory = take(static_cast<std::size_t>(bytes));
  if (memory == nullptr) return nullptr;
  const std::lock_guard lock(mutex_);
  sizes_[memory] = bytes;
  bytes_alive_ += bytes;
  return memory;
}

void CountingAllocator::release(void* memory) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto position = sizes_.find(memory);
    if (position == sizes_.end()) return;
    bytes_alive_ -= position->second;
    sizes_.erase(position);
  }
  give_back(memory);
}

void* CountingAllocator::take(std::size_t bytes) const {
  if (!context_)
    return std::aligned_alloc(alignment_bytes, (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes);
  const device::cuda::ContextScope scope(*context_);
  device::cuda::DevicePointer pointer = 0;
  if (context_->driver().cuMemAlloc_v2(&pointer, bytes) != device::cuda::Result::success) return nullptr;
  return reinterpret_cast<void*>(pointer);
}

void CountingAllocator::give_back(void* memory) const noexcept {
  if (!context_) std::free(memory);
  else
    device::cuda::attempt(
        *context_, [&] { context_->driver().cuMemFree_v2(reinterpret_cast<device::cuda::DevicePointer>(memory)); });
}

}  // namespace vostok::bench
