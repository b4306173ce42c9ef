// The CUDA context that the library uses, and owners of the driver's handles in it.
#pragma once

#include <memory>
#include <utility>

#include "device/cuda/driver_library.hpp"

namespace vostok::device::cuda {

/// One device's primary context, retained, or a user's context, borrowed. Shared by everything made in it.
class CudaContext {
 public:
  /// `given` may be nullptr. An ordinal of -1 means the given context's own device. Errors: no_device naming what was
  /// tried, wrong_device if `given` is on another device.
  CudaContext(std::shared_ptr<const Driver> driver, int ordinal, ContextHandle given);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  const Driver& driver() const { return *driver_; }
  ContextHandle handle() const { return handle_; }
  DeviceHandle device() const { return device_; }

 private:
  void find_device(int ordinal);
  void borrow(int ordinal, ContextHandle given);

  std::shared_ptr<const Driver> driver_;
  DeviceHandle device_ = 0;
  ContextHandle handle_ = nullptr;
  bool retained_ = false;
};

/// Makes a context current for a scope, if it is not, and restores the previous one.
class ContextScope {
 public:
  ContextScope(const Driver& driver, ContextHandle handle) : driver_(driver) {
    driver_.require("read the current context", driver_.cuCtxGetCurrent, &previous_);
    if (previous_ == handle) return;
    driver_.require("make the context current", driver_.cuCtxSetCurrent, handle);
    changed_ = true;
  }
  explicit ContextScope(const CudaContext& context) : ContextScope(context.driver(), context.handle()) {}
  ~ContextScope() {
    if (changed_) driver_.cuCtxSetCurrent(previous_);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  const Driver& driver_;
  ContextHandle previous_ = nullptr;
  bool changed_ = false;
};

/// Scope of the library's own calls: the context is current, and calls that another thread's global capture would
/// forbid (allocating, loading, waiting) are allowed on this thread.
class LibraryScope {
 public:
  explicit LibraryScope(const CudaContext& context) : driver_(context.driver()), current_(context) {
    driver_.require("exchange the thread's capture mode", driver_.cuThreadExchangeStreamCaptureMode, &mode_);
  }
  ~LibraryScope() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;

 private:
  const Driver& driver_;
  ContextScope current_;
  CaptureMode mode_ = CaptureMode::relaxed;
};

/// For callers that must not throw: runs `action` in a library scope. False if the driver is gone, as at process exit.
template <class Action>
bool attempt(const CudaContext& context, Action&& action) noexcept {
  try {
    const LibraryScope scope(context);
    std::forward<Action>(action)();
    return true;
  } catch (...) {
    return false;
  }
}

/// A non-blocking stream. Made and destroyed with the context current.
class OwnedStream {
 public:
  explicit OwnedStream(const CudaContext& context);
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  StreamHandle get() const { return handle_; }

 private:
  const CudaContext& context_;
  StreamHandle handle_ = nullptr;
};

/// An event. Made and destroyed with the context current.
class OwnedEvent {
 public:
  OwnedEvent(const CudaContext& context, unsigned flags);
  ~OwnedEvent();
  OwnedEvent(OwnedEvent&& other) noexcept;
  OwnedEvent& operator=(OwnedEvent&&) = delete;
  EventHandle get() const { return handle_; }

 private:
  const CudaContext* context_;
  EventHandle handle_ = nullptr;
};

/// The capture state of a stream.
enum class StreamCapture {
  none,
  own,     ///< it is being captured
  barred,  ///< it is the legacy stream, which nobody may use while some blocking stream is captured
};
StreamCapture capture_of(const Driver& driver, StreamHandle stream);

}  // namespace vostok::device::cuda
