// The shared memory of a worker's current block.
#pragma once

#include <cstddef>

#include "device/emulator/pages.hpp"

namespace vostok::device::emulator {

/// Ends at an inaccessible page, and is filled with 0xff bytes (NaN in every format) before each block.
class Arena {
 public:
  /// Reserves room for up to `capacity_bytes`. Errors: out_of_memory.
  explicit Arena(std::size_t capacity_bytes);
  /// Fresh memory for one block; 16-byte aligned, so that up to 15 bytes lie between its end and the guard.
  unsigned char* reset(std::size_t bytes);

 private:
  Pages pages_;
  std::size_t capacity_bytes_;
};

}  // namespace vostok::device::emulator
