// A pool of device memory, which reuses freed blocks without asking the driver to map memory again.
#pragma once

#include <cstdint>

#include "device/cuda/cuda_context.hpp"

namespace vostok::device::cuda {

/// Thread-safe. Made and destroyed with the context current.
class MemoryPool {
 public:
  static bool is_supported(const Driver& driver);

  /// Up to `kept_bytes` of freed memory stay in the pool. (The device's default pool keeps none: it unmaps at
  /// every wait for a stream.)
  MemoryPool(const CudaContext& context, std::uint64_t kept_bytes);
  /// Waits until freed memory is released.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Ready on every stream. Errors: out_of_memory, device_failure.
  DevicePointer allocate(std::int64_t bytes) const;
  void free(DevicePointer memory) const noexcept;

 private:
  const CudaContext& context_;
  OwnedStream stream_;  // only allocations and frees, so that waiting for it is short
  PoolHandle handle_ = nullptr;
};

}  // namespace vostok::device::cuda
