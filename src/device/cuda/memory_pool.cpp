#include "device/cuda/memory_pool.hpp"

#include "base/text.hpp"

namespace vostok::device::cuda {

bool MemoryPool::is_supported(const Driver& driver) {
  return driver.cuMemPoolCreate && driver.cuMemPoolSetAttribute && driver.cuMemPoolDestroy &&
         driver.cuMemAllocFromPoolAsync && driver.cuMemFreeAsync;
}

MemoryPool::MemoryPool(const CudaContext& context, std::uint64_t kept_bytes) : context_(context), stream_(context) {
  const Driver& driver = context_.driver();
  const PoolProperties properties{.allocation = AllocationType::pinned,
                                  .share = ShareHandleType::none,
                                  .location = {.type = LocationType::device, .id = context_.device()},
                                  .security_attributes = nullptr,
                                  .defaults = {}};
  driver.require("create a memory pool", driver.cuMemPoolCreate, &handle_, &properties);
  const Result result = driver.cuMemPoolSetAttribute(handle_, PoolAttribute::release_threshold, &kept_bytes);
  if (result == Result::success) return;
  driver.cuMemPoolDestroy(handle_);
  driver.fail_call("set what a memory pool keeps", driver.cuMemPoolSetAttribute.name, result);
}

MemoryPool::~MemoryPool() {
  context_.driver().cuStreamSynchronize(stream_.get());
  context_.driver().cuMemPoolDestroy(handle_);
}

DevicePointer MemoryPool::allocate(std::int64_t bytes) const {
  const Driver& driver = context_.driver();
  const auto fail_call = [&](const char* call, Result result) {
    driver.fail_call(fmt::format("allocate {} bytes of device memory", bytes), call, result);
  };
  DevicePointer memory = 0;
  const Result result =
      driver.cuMemAllocFromPoolAsync(&memory, static_cast<std::size_t>(bytes), handle_, stream_.get());
  if (result != Result::success) fail_call(driver.cuMemAllocFromPoolAsync.name, result);
  // Memory belongs to the pool's stream until that stream has passed the allocation.
  const Result ready = driver.cuStreamSynchronize(stream_.get());
  if (ready == Result::success) return memory;
  free(memory);
  fail_call(driver.cuStreamSynchronize.name, ready);
  return 0;
}

void MemoryPool::free(DevicePointer memory) const noexcept { context_.driver().cuMemFreeAsync(memory, stream_.get()); }

}  // namespace vostok::device::cuda
