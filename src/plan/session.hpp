// What every object of one context shares: the device, the stores, the counters, the logger. Every handle made
// from a context holds it through a shared_ptr: the device lives as long as anything that needs it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <vostok/context.hpp>

#include "base/log.hpp"
#include "device/device.hpp"
#include "plan/counters.hpp"
#include "plan/stores.hpp"
#include "plan/stream_set.hpp"

namespace vostok::ops {
class StepKernels;
}

namespace vostok::plan {

class Kernels;

class Session {
 public:
  Session(std::shared_ptr<device::Device> device, Stores stores, std::shared_ptr<Logger> logger,
          std::shared_ptr<AtomicCounters> counters, const Options& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  device::Device& device() const { return *device_; }
  TuningStore& tuning() const { return *stores_.tuning; }
  CodeStore& code() const { return *stores_.code; }
  Logger& logger() const { return *logger_; }
  AtomicCounters& counters() const { return *counters_; }
  Kernels& kernels() const { return *kernels_; }
  ops::StepKernels& step_kernels() const { return *step_kernels_; }
  const Options& options() const { return options_; }
  CompilePolicy compile() const { return compile_; }
  bool cache_only() const { return cache_only_; }
  int compile_threads() const { return compile_threads_; }
  std::int64_t max_workspace_bytes() const { return max_workspace_bytes_; }
  DeviceKey device_key() const;

  /// Releases memory after the work that `used` recorded or, if that work is not known, when the session ends.
  void release(void* memory, const StreamSet& used) noexcept;

  /// Errors: after_fork if another process made the session, capture_active if `stream` is being captured. `what` is
  /// the caller's purpose, e.g. "plan SpMM".
  void require_no_capture(Stream stream, std::string_view what) const;

 private:
  std::shared_ptr<device::Device> device_;
  Stores stores_;
  std::shared_ptr<Logger> logger_;
  std::shared_ptr<AtomicCounters> counters_;
  Options options_;
  CompilePolicy compile_;
  bool cache_only_;
  int compile_threads_;
  std::int64_t max_workspace_bytes_;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<ops::StepKernels> step_kernels_;
  std::mutex mutex_;
  std::vector<void*> kept_;  ///< memory whose users are not known, kept until the end
};

}  // namespace vostok::plan
