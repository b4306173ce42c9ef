#include "device/cuda/cuda_context.hpp"

#include <utility>

#include "base/text.hpp"

namespace vostok::device::cuda {

CudaContext::CudaContext(std::shared_ptr<const Driver> driver, int ordinal, ContextHandle given)
    : driver_(std::move(driver)) {
  if (given != nullptr) {
    borrow(ordinal, given);
    return;
  }
  find_device(ordinal);
  driver_->require("retain the device's primary context", driver_->cuDevicePrimaryCtxRetain, &handle_, device_);
  retained_ = true;
}

CudaContext::~CudaContext() {
  if (retained_) driver_->cuDevicePrimaryCtxRelease_v2(device_);
}

void CudaContext::find_device(int ordinal) {
  int count = 0;
  driver_->require("count the GPUs", driver_->cuDeviceGetCount, &count);
  if (count == 0)
    fail(ErrorCode::no_device, "cannot open cuda:{}: the driver (CUDA {}) lists no GPU", ordinal,
         driver_->version_text());
  if (ordinal < 0 || ordinal >= count) {
    fail(ErrorCode::no_device, "cannot open cuda:{}: the driver lists {} GPU{}, cuda:0 to cuda:{}", ordinal, count,
         count == 1 ? "" : "s", count - 1);
  }
  driver_->require("open the GPU", driver_->cuDeviceGet, &device_, ordinal);
}

void CudaContext::borrow(int ordinal, ContextHandle given) {
  const ContextScope scope(*driver_, given);
  DeviceHandle own = 0;
  driver_->require("ask the given context for its device", driver_->cuCtxGetDevice, &own);
  if (ordinal >= 0) {
    find_device(ordinal);
    if (device_ != own)
      fail(ErrorCode::wrong_device, "cannot open cuda:{}: the given CUDA context lives on device {}", ordinal, own);
  }
  device_ = own;
  handle_ = given;
}

OwnedStream::OwnedStream(const CudaContext& context) : context_(context) {
  const Driver& driver = context_.driver();
  driver.require("create a stream", driver.cuStreamCreate, &handle_, stream_non_blocking);
}

OwnedStream::~OwnedStream() { context_.driver().cuStreamDestroy_v2(handle_); }

OwnedEvent::OwnedEvent(const CudaContext& context, unsigned flags) : context_(&context) {
  const Driver& driver = context_->driver();
  driver.require("create an event", driver.cuEventCreate, &handle_, flags);
}

OwnedEvent::OwnedEvent(OwnedEvent&& other) noexcept
    : context_(other.context_), handle_(std::exchange(other.handle_, nullptr)) {}

OwnedEvent::~OwnedEvent() {
  if (handle_ != nullptr) context_->driver().cuEventDestroy_v2(handle_);
}

StreamCapture capture_of(const Driver& driver, StreamHandle stream) {
  CaptureStatus status = CaptureStatus::none;
  const Result result = driver.cuStreamIsCapturing(stream, &status);
  // This query does not disturb the other stream's capture; any other call on the legacy stream would end it.
  if (result == Result::capture_implicit) return StreamCapture::barred;
  if (result != Result::success)
    driver.fail_call("ask whether the stream is being captured", driver.cuStreamIsCapturing.name, result);
  return status == CaptureStatus::none ? StreamCapture::none : StreamCapture::own;
}

}  // namespace vostok::device::cuda
