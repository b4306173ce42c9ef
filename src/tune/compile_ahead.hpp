// Compiles candidates on several threads, ahead of the one thread that measures.
#pragma once

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
  /// Starts compiling `order` (positions in `candidates`), first to last.
  CompileAhead(Subject& subject, const std::vector<Candidate>& candidates, std::vector<std::size_t> order, int threads);
  ~CompileAhead();  ///< stops after the compiles in flight
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  /// The next finished candidate, in the order of finishing; nothing once all were taken.
  std::optional<Result> next();

 private:
  void work();
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
  std::vector<std::jthread> threads_;
};

}  // namespace vostok::tune
