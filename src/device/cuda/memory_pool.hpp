// A pool of device memory: freed blocks are handed out again without asking the driver to map memory.
#pragma once

#include <cstdint>

#include "device/cuda/cuda_context.hpp"

namespace vostok::device::cuda {

/// Thread-safe. Made and destroyed with the context current.
class MemoryPool {
 public:
  static bool is_supported(const Driver& driver);

  /// Freed memory up to `kept_bytes` stays in the pool. (The device's default pool keeps none: it is unmapped whenever a stream is waited for.)
  MemoryPool(const CudaContext& context, std::uint64_t kept_bytes);
  /// Waits for what was freed.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Ready on every stream. Errors: out_of_memory, device_failure.
  DevicePointer allocate(std::int64_t bytes) const;
  void free(DevicePointer memory) const noexcept;

 private:
  const CudaContext& context_;
  OwnedStream stream_;  // has nothing but allocations and frees, so waiting for it is short
  PoolHandle handle_ = nullptr;
};

}  // namespace vostok::device::cuda
