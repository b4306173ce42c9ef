// Runs the blocks of a grid one after another on one OS thread. A block's threads are fibers; they switch only at
// barriers and warp operations, in an order drawn anew each time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "device/emulator/arena.hpp"
#include "device/emulator/cuda_thread.hpp"
#include "device/emulator/launch.hpp"
#include "device/emulator/permutation.hpp"

namespace vostok::device::emulator {

/// Threads that can continue, first in first out. Each is queued at most once.
class ReadyThreads {
 public:
  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }
  void push(int thread) { threads_[static_cast<std::size_t>((first_ + count_++) % most_threads)] = thread; }
  int pop() {
    const int thread = threads_[static_cast<std::size_t>(first_)];
    first_ = (first_ + 1) % most_threads;
    --count_;
    return thread;
  }

 private:
  std::array<int, most_threads> threads_ = {};
  int first_ = 0;
  int count_ = 0;
};

class Block {
 public:
  explicit Block(std::size_t most_shared_bytes);

  /// Runs block `index` (the `number`-th of its grid) to its end. Errors: device_failure naming block, threads, file
  /// and line.
  void run(const Launch& launch, vostok_emulator::Index index, std::uint64_t number);

  // The kernel's side: called on the fiber of `thread`.
  int barrier(CudaThread& thread, vostok_emulator::BarrierKind kind, int value, vostok_emulator::Place place);
  void warp_operation(CudaThread& thread, const vostok_emulator::WarpRequest& request);
  /// Ends the block with this reason.
  [[noreturn]] void fail_thread(const CudaThread& thread, const std::string& reason, vostok_emulator::Place place);

 private:
  struct Warp {
    unsigned lanes = 0;    ///< number of existing lanes
    unsigned waiting = 0;  ///< in a warp operation
  };
  struct Barrier {
    int arrived = 0;
    vostok_emulator::BarrierKind kind = {};
    vostok_emulator::Place place = {};
    int first_thread = 0;
    int true_values = 0;
    /// Results and ThreadSanitizer tokens of this barrier and the one before: a thread can lag by one barrier, not by
    /// two.
    unsigned generation = 0;
    std::array<int, 2> results = {};
    std::array<char, 2> tokens = {};
  };

  void start(const Launch& launch, vostok_emulator::Index index, std::uint64_t number);
  void run_ready_threads();
  void cancel();
  void thread_main(CudaThread& thread);
  void wait(CudaThread& thread);
  void make_ready(std::span<int> ascending);
  void complete_barrier();
  void complete_warp_operation(unsigned members, int first_thread);
  [[noreturn]] void fail(std::string reason);
  std::string describe_stuck() const;
  std::string describe_cause() const;

  Arena arena_;
  FiberStacks stacks_;
  std::unique_ptr<CudaThread[]> threads_;
  const Launch* launch_ = nullptr;
  vostok_emulator::Index index_ = {};
  vostok_emulator::Thread** slot_ = nullptr;
  Random random_{0};
  ReadyThreads ready_;
  std::array<Warp, most_threads / warp_lanes> warps_ = {};
  Barrier barrier_;
  int exited_ = 0;
  bool cancelled_ = false;
  std::optional<std::string> failure_;
};

}  // namespace vostok::device::emulator
