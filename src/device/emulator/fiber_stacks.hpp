// The stacks of the fibers of one worker: in one mapping, an inaccessible page below each.
#pragma once

#include <cstddef>

#include "device/emulator/pages.hpp"

namespace vostok::device::emulator {

/// A stack grows down from `bottom + bytes`.
struct Stack {
  unsigned char* bottom = nullptr;
  std::size_t bytes = 0;
};

class FiberStacks {
 public:
  /// Provides at least `count` stacks; those handed out before become invalid. Errors: out_of_memory.
  void reserve(std::size_t count);
  Stack at(std::size_t i) const;

 private:
  Pages pages_;
  std::size_t count_ = 0;
};

}  // namespace vostok::device::emulator
