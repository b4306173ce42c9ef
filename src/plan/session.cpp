#include "plan/session.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "ops/topology/queue.hpp"
#include "plan/kernels.hpp"

namespace vostok::plan {

Session::Session(std::shared_ptr<device::Device> device, Stores stores, std::shared_ptr<Logger> logger,
                 std::shared_ptr<AtomicCounters> counters, const Options& options)
    : device_(std::move(device)),
      stores_(std::move(stores)),
      logger_(std::move(logger)),
      counters_(std::move(counters)),
      options_(options),
      compile_(options.compile),
      cache_only_(options.cache_only),
      compile_threads_(options.compile_threads > 0
                           ? options.compile_threads
                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
      max_workspace_bytes_(options.max_workspace_bytes),
      kernels_(std::make_unique<Kernels>(*this)),
      step_kernels_(
          std::make_unique<ops::StepKernels>([this](const codegen::KernelRequest& request, std::int64_t shared_bytes) {
            return kernels_->get(request, shared_bytes)->kernel;
          })) {}

Session::~Session() {
  for (void* memory : kept_) device_->release_behind(memory, {});
}

DeviceKey Session::device_key() const {
  const DeviceInfo& info = device_->info();
  return {.uuid = info.uuid,
          .name = info.name,
          .architecture = info.architecture,
          .multiprocessors = info.multiprocessors,
          .memory_bytes = info.memory_bytes,
          .l2_bytes = info.l2_bytes,
          .driver = info.driver};
}

void Session::release(void* memory, const StreamSet& used) noexcept {
  if (memory == nullptr || !device_->is_here()) return;
  if (!used.overflowed()) return device_->release_behind(memory, used.streams());
  const std::lock_guard lock(mutex_);
  kept_.push_back(memory);
}

void Session::require_no_capture(Stream stream, std::string_view what) const {
  device_->require_here(what);
  if (device_->is_capturing(stream))
    fail(ErrorCode::capture_active,
         "cannot {}: the stream is being captured, and this may allocate and compile; do it before the capture", what);
}

}  // namespace vostok::plan
