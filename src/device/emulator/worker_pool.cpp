#include "device/emulator/worker_pool.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>

#include "device/emulator/block.hpp"
#include "device/emulator/permutation.hpp"
#include "device/emulator/sanitizer.hpp"

namespace vostok::device::emulator {

struct WorkerPool::Job {
  explicit Job(const Launch& l) : launch(l), order(l.order, l.blocks()) {}
  const Launch& launch;
  BlockOrder order;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> failed = false;
  // Guarded by the pool's mutex.
  int active = 0;
  bool exhausted = false;
  std::exception_ptr error;
  std::condition_variable ended;
};

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::start_threads() {
  while (threads_.size() < static_cast<std::size_t>(workers_)) threads_.emplace_back([this] { work(); });
}

void WorkerPool::run(const Launch& launch) {
  Job job(launch);
  std::unique_lock lock(mutex_);
  start_threads();
  jobs_.push_back(&job);
  work_.notify_all();
  job.ended.wait(lock, [&] { return job.exhausted && job.active == 0; });
  ++ended_;
  sanitizer::observe(launch.finished);
  if (job.error) std::rethrow_exception(job.error);
}

LaunchProgress WorkerPool::progress() const {
  const std::lock_guard lock(mutex_);
  LaunchProgress progress{.ended = ended_};
  if (jobs_.empty()) return progress;
  const auto blocks = static_cast<double>(jobs_.front()->launch.blocks());
  progress.share = std::min(static_cast<double>(jobs_.front()->next.load()) / blocks, 1.0);
  return progress;
}

void WorkerPool::work() {
  std::unique_ptr<Block> block;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job& job = *jobs_.front();
    ++job.active;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!block) block = std::make_unique<Block>(most_shared_bytes_);
      run_blocks(job, *block);
    } catch (...) {
      error = std::current_exception();
      job.failed = true;
    }
    lock.lock();
    --job.active;
    if (!job.exhausted) {
      job.exhausted = true;
      jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    }
    if (error && !job.error) job.error = error;
    if (job.active == 0) job.ended.notify_all();
  }
}

void WorkerPool::run_blocks(Job& job, Block& block) {
  const Launch& launch = job.launch;
  const std::uint64_t count = launch.blocks();
  for (std::uint64_t turn = job.next++; turn < count && !job.failed; turn = job.next++) {
    const std::uint64_t number = job.order(turn);
    const vostok_emulator::Index index = {static_cast<unsigned>(number % launch.grid.x),
                                          static_cast<unsigned>(number / launch.grid.x % launch.grid.y),
                                          static_cast<unsigned>(number / launch.grid.x / launch.grid.y)};
    block.run(launch, index, number);
  }
}

}  // namespace vostok::device::emulator
