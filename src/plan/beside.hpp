// Runs work that is needed soon on other threads meanwhile.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace vostok::plan {

/// The destructor waits for the started jobs. Exceptions of jobs are dropped: whoever needs a result asks for it
/// again and gets the error then.
class Beside {
 public:
  using Job = std::function<void()>;

  Beside() = default;
  ~Beside() { threads_.clear(); }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  /// Runs the jobs on at most `threads` threads, or fewer if the system has no more. Called once.
  void start(std::vector<Job> jobs, int threads) {
    jobs_ = std::move(jobs);
    try {
      for (int i = 0; i < std::min(threads, static_cast<int>(jobs_.size())); ++i)
        threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      return;
    }
  }
  bool started() const { return !threads_.empty(); }

 private:
  void work() noexcept {
    for (std::size_t i = next_++; i < jobs_.size(); i = next_++) {
      try {
        jobs_[i]();
      } catch (...) {
        continue;
      }
    }
  }

  std::vector<Job> jobs_;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace vostok::plan
