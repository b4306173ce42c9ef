// The OS threads that run blocks. Started at the first launch, kept until the device is destroyed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.hpp"
#include "device/emulator/launch.hpp"

namespace vostok::device::emulator {

class Block;

class WorkerPool {
 public:
  WorkerPool(int workers, std::size_t most_shared_bytes) : workers_(workers), most_shared_bytes_(most_shared_bytes) {}
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int workers() const { return workers_; }
  /// Runs every block of the grid and returns when all have ended. Thread-safe. Errors: the first failed block's;
  /// blocks not started by then do not run.
  void run(const Launch& launch);
  /// The progress of the launches so far. Thread-safe.
  LaunchProgress progress() const;

 private:
  struct Job;
  void start_threads();
  void work();
  static void run_blocks(Job& job, Block& block);

  int workers_;
  std::size_t most_shared_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Job*> jobs_;
  std::int64_t ended_ = 0;  ///< launches
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace vostok::device::emulator
