// Page-aligned memory with inaccessible pages beside it.
#pragma once

#include <cstddef>

namespace vostok::device::emulator {

std::size_t page_bytes();

/// A mapping of whole pages, all inaccessible at first. Empty after a failure: check `operator bool`.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  explicit operator bool() const { return begin_ != nullptr; }
  unsigned char* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }
  /// Makes whole pages readable and writable; false if the system refuses.
  bool open(std::size_t offset, std::size_t bytes) const;
  /// Replaces whole open pages by new ones, so that ThreadSanitizer forgets who used them.
  bool renew(std::size_t offset, std::size_t bytes) const;

 private:
  unsigned char* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace vostok::device::emulator
