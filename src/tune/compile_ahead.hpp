// Compiles candidates on several threads, ahead of the one thread that measures.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tune/tuner.hpp"

namespace vostok::tune {

class CompileAhead {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts compiling `order` (positions in `candidates`), first to last. After the first `needed`, a compile starts
  /// only if it would end before the deadline, assuming that it takes as long as the longest so far.
  CompileAhead(Subject& subject, const std::vector<Candidate>& candidates, std::vector<std::size_t> order, int threads,
               std::size_t needed = 0, Clock::time_point deadline = Clock::time_point::max());
  ~CompileAhead();  ///< stops after the compiles in flight
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// The next finished candidate, in the order of finishing; nothing after all that there was time for.
  std::optional<Result> next();

 private:
  void work();
  /// The next candidate to compile; nothing if there is none, or no time for it.
  std::optional<std::size_t> take_position();
  Result compile(std::size_t position) const;

  Subject& subject_;
  const std::vector<Candidate>& candidates_;
  std::vector<std::size_t> order_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::deque<Result> ready_;
  std::size_t started_ = 0;
  std::size_t taken_ = 0;
  bool stop_ = false;
  std::size_t needed_;
  Clock::time_point deadline_;
  Clock::duration longest_{};
  std::vector<std::jthread> threads_;
};

}  // namespace vostok::tune
