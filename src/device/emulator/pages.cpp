#include "device/emulator/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Pages::Pages(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  begin_ = static_cast<unsigned char*>(memory);
  bytes_ = bytes;
}

Pages::~Pages() {
  if (begin_ == nullptr) return;
  sanitizer::permit(begin_, bytes_);
  munmap(begin_, bytes_);
}

Pages::Pages(Pages&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

bool Pages::open(std::size_t offset, std::size_t bytes) const {
  return mprotect(begin_ + offset, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool Pages::renew(std::size_t offset, std::size_t bytes) const {
  return mmap(begin_ + offset, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
         MAP_FAILED;
}

}  // namespace vostok::device::emulator
