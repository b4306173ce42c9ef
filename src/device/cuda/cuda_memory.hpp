// Device memory that is allocated without blocking the GPU's work, and released after the work that uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "device/cuda/device_properties.hpp"
#include "device/cuda/memory_pool.hpp"

namespace vostok::device::cuda {

/// Thread-safe. Memory comes from the user's allocator, else from a pool (so that freeing does not wait for the GPU)
/// or, if driver or device have no pools, from cuMemAlloc.
class CudaMemory {
 public:
  CudaMemory(std::shared_ptr<const CudaContext> context, std::shared_ptr<Allocator> allocator,
             const DeviceProperties& properties);
  /// Waits for the work that uses released blocks, then frees them.
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  /// 256-byte aligned; nullptr for 0 bytes. Errors: out_of_memory, invalid_argument.
  void* allocate(std::int64_t bytes);
  /// Frees after the work queued so far on `streams`. A block whose end cannot be known, because a stream is being
  /// captured (the graph may be replayed at any time) or is refused by the driver, is kept until this object goes.
  void release_behind(void* memory, const std::vector<Stream>& streams) noexcept;

 private:
  struct Grave {
    void* memory = nullptr;
    std::vector<OwnedEvent> events = {};
    std::vector<Stream> barred =
        {};  ///< still to be asked for their end: the legacy stream, while a blocking stream was captured
    bool kept = false;
  };
  Grave dig(void* memory, const std::vector<Stream>& streams) const;
  void record_end(Grave& grave, Stream stream) const;
  void bury(Grave grave);
  bool is_finished(Grave& grave) const;
  std::vector<Grave> take_finished();
  void sweep();
  void* allocate_from_driver(std::int64_t bytes);
  void free(void* memory) const noexcept;

  std::shared_ptr<const CudaContext> context_;
  std::shared_ptr<Allocator> allocator_;
  std::optional<MemoryPool> pool_;
  std::mutex mutex_;
  std::vector<Grave> graves_;
};

}  // namespace vostok::device::cuda
