// One CUDA thread: its view of the launch, its fiber, and what it waits for.
#pragma once

#include <cstddef>
#include <vector>

#include "device/emulator/fiber.hpp"
#include "device/emulator/sanitizer.hpp"
#include "device/emulator/shim/runtime.h"

namespace vostok::device::emulator {

class Block;

/// Copies issued by cp.async that have not completed, oldest first.
class PendingCopies {
 public:
  void add(const vostok_emulator::AsyncCopy& copy) {
    const sanitizer::Unseen own_memory;  // it grows, and may belong to the block before
    copies_.push_back({copy, group_});
  }
  void commit() { ++group_; }
  /// The oldest copy of a committed group that is not among the newest `pending_groups`.
  bool take(int pending_groups, vostok_emulator::AsyncCopy* copy) {
    if (first_ == copies_.size() || copies_[first_].group >= group_ - pending_groups) return false;
    *copy = copies_[first_++].copy;
    if (first_ == copies_.size()) drop_all();
    return true;
  }
  void clear() {
    drop_all();
    group_ = 0;
  }

 private:
  struct Grouped {
    vostok_emulator::AsyncCopy copy;
    int group;
  };
  void drop_all() {
    copies_.clear();
    first_ = 0;
  }
  std::vector<Grouped> copies_;
  std::size_t first_ = 0;
  int group_ = 0;
};

struct CudaThread : vostok_emulator::Thread {
  enum class State { ready, at_barrier, in_warp_operation, exited };

  Block* owner = nullptr;
  Fiber fiber;
  int number = 0;  ///< in its block, x fastest
  State state = State::ready;
  vostok_emulator::Place place = {};                      ///< where it waits
  const vostok_emulator::WarpRequest* request = nullptr;  ///< while in a warp operation
  PendingCopies copies;
  char arrived = 0;   ///< ThreadSanitizer token: this lane reached a warp operation
  char released = 0;  ///< and this one: the operation is complete
};

}  // namespace vostok::device::emulator
