// Device memory for a context, counted.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <vostok/context.hpp>

#include "device/cuda/cuda_context.hpp"

namespace vostok::bench {

class CountingAllocator : public Allocator {
 public:
  /// `context`: of the GPU; null for host memory, as the emulator uses.
  explicit CountingAllocator(std::shared_ptr<const device::cuda::CudaContext> context) : context_(std::move(context)) {}

  void* allocate(std::int64_t bytes) override;
  void release(void* memory) noexcept override;

  std::int64_t bytes_alive() const { return bytes_alive_; }

 private:
  void* take(std::size_t bytes) const;
  void give_back(void* memory) const noexcept;

  std::shared_ptr<const device::cuda::CudaContext> context_;
  std::mutex mutex_;
  std::unordered_map<void*, std::int64_t> sizes_;
  std::atomic<std::int64_t> bytes_alive_ = 0;
};

}  // namespace vostok::bench
