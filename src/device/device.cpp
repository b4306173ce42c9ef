#include "device/device.hpp"

#include <utility>

#include "base/text.hpp"

namespace vostok::device {

void Device::make_map(TensorMap&) const {
  fail(ErrorCode::internal, "cannot make a tensor map: {} has none", info().name);
}

void Device::fail_after_fork(std::string_view what, std::string_view object) const {
  fail(ErrorCode::after_fork,
       "cannot {}{}{}: {} was opened before this process was forked off, and does not survive that; "
       "make a context {}",
       what, object.empty() ? "" : " ", object, info().name,
       info().gpu ? "in a process that is started by exec" : "in this process");
}

Buffer::Buffer(Device& device, std::int64_t bytes) : device_(&device), data_(device.allocate(bytes)), bytes_(bytes) {}

Buffer::~Buffer() {
  if (data_ != nullptr) device_->release_behind(data_, {});
}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer taken(std::move(other));  // frees this buffer's own memory in the end
  std::swap(device_, taken.device_);
  std::swap(data_, taken.data_);
  std::swap(bytes_, taken.bytes_);
  return *this;
}

void* Buffer::release() {
  bytes_ = 0;
  return std::exchange(data_, nullptr);
}

}  // namespace vostok::device
