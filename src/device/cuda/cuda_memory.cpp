#include "device/cuda/cuda_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.hpp"
#include "device/user_memory.hpp"

namespace vostok::device::cuda {

namespace {

/// Divisor: a pool keeps 1/512 of the device's memory, which is twice the forms of a large layer and little
/// beside a framework's own pool.
constexpr std::uint64_t kept_share = 512;

DevicePointer address(void* memory) { return reinterpret_cast<DevicePointer>(memory); }

}  // namespace

CudaMemory::CudaMemory(std::shared_ptr<const CudaContext> context, std::shared_ptr<Allocator> allocator,
                       const DeviceProperties& properties)
    : context_(std::move(context)), allocator_(std::move(allocator)) {
  if (allocator_ || !properties.memory_pools || !MemoryPool::is_supported(context_->driver())) return;
  const LibraryScope scope(*context_);
  pool_.emplace(*context_, static_cast<std::uint64_t>(properties.info.memory_bytes) / kept_share);
}

CudaMemory::~CudaMemory() {
  attempt(*context_, [&] {
    for (const Grave& grave : graves_) {
      for (const OwnedEvent& event : grave.events) context_->driver().cuEventSynchronize(event.get());
      free(grave.memory);
    }
    graves_.clear();
    pool_.reset();
  });
}

void* CudaMemory::allocate(std::int64_t bytes) {
  if (bytes < 0)
    fail(ErrorCode::invalid_argument, "cannot allocate {} bytes of device memory: the size is negative", bytes);
  sweep();
  if (bytes == 0) return nullptr;
  return allocator_ ? allocate_from_user(*allocator_, bytes) : allocate_from_driver(bytes);
}

void* CudaMemory::allocate_from_driver(std::int64_t bytes) {
  const LibraryScope scope(*context_);
  if (pool_) return reinterpret_cast<void*>(pool_->allocate(bytes));
  const Driver& driver = context_->driver();
  DevicePointer pointer = 0;
  const Result result = driver.cuMemAlloc_v2(&pointer, static_cast<std::size_t>(bytes));
  if (result != Result::success)
    driver.fail_call(fmt::format("allocate {} bytes of device memory", bytes), driver.cuMemAlloc_v2.name, result);
  return reinterpret_cast<void*>(pointer);
}

void CudaMemory::free(void* memory) const noexcept {
  if (allocator_) {
    allocator_->release(memory);
  } else if (pool_) {
    pool_->free(address(memory));
  } else {
    context_->driver().cuMemFree_v2(address(memory));
  }
}

void CudaMemory::release_behind(void* memory, const std::vector<Stream>& streams) noexcept {
  if (memory == nullptr) return;
  // If even this fails, without a driver or host memory, leaking the block is the only safe end.
  attempt(*context_, [&] {
    bury(dig(memory, streams));
    sweep();
  });
}

void CudaMemory::bury(Grave grave) {
  const std::lock_guard lock(mutex_);
  graves_.push_back(std::move(grave));
}

CudaMemory::Grave CudaMemory::dig(void* memory, const std::vector<Stream>& streams) const {
  Grave grave{.memory = memory};
  for (Stream stream : streams) record_end(grave, stream);
  return grave;
}

void CudaMemory::record_end(Grave& grave, Stream stream) const {
  const Driver& driver = context_->driver();
  CaptureStatus status = CaptureStatus::none;
  const Result asked = driver.cuStreamIsCapturing(stream, &status);
  if (asked == Result::capture_implicit) {
    grave.barred.push_back(stream);
    return;
  }
  grave.kept = grave.kept || asked != Result::success || status != CaptureStatus::none;
  if (grave.kept) return;
  try {
    OwnedEvent event(*context_, event_disable_timing);
    grave.kept = driver.cuEventRecord(event.get(), stream) != Result::success;
    if (!grave.kept) grave.events.push_back(std::move(event));
  } catch (const Error&) {
    grave.kept = true;  // no event could be created
  }
}

bool CudaMemory::is_finished(Grave& grave) const {
  for (Stream stream : std::exchange(grave.barred, {})) record_end(grave, stream);
  if (grave.kept || !grave.barred.empty()) return false;
  for (const OwnedEvent& event : grave.events) {
    const Result result = context_->driver().cuEventQuery(event.get());
    if (result == Result::success) continue;
    grave.kept = grave.kept || result != Result::not_ready;
    return false;
  }
  return true;
}

std::vector<CudaMemory::Grave> CudaMemory::take_finished() {
  const std::lock_guard lock(mutex_);
  const auto finished =
      std::partition(graves_.begin(), graves_.end(), [&](Grave& grave) { return grave.kept || !is_finished(grave); });
  std::vector<Grave> taken(std::make_move_iterator(finished), std::make_move_iterator(graves_.end()));
  graves_.erase(finished, graves_.end());
  return taken;
}

void CudaMemory::sweep() {
  const LibraryScope scope(*context_);
  for (const Grave& grave : take_finished())
    free(grave.memory);  // outside the lock: the user's allocator may call back
}

}  // namespace vostok::device::cuda
