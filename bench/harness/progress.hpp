// The progress of a run over a list, on stderr, with the time left.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace vostok::bench {

class Progress {
 public:
  /// `deadline_seconds`: 0 means none. `pause_seconds`: the least time between two lines, where problems are short.
  Progress(std::size_t problems, double deadline_seconds, double pause_seconds = 0)
      : problems_(problems), deadline_seconds_(deadline_seconds), pause_seconds_(pause_seconds) {}

  bool out_of_time() const { return deadline_seconds_ > 0 && elapsed_seconds() > deadline_seconds_; }
  /// Announces the next problem, and about how long the rest will take.
  void start(const std::string& problem);
  double elapsed_seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::size_t problems_;
  double deadline_seconds_;
  double pause_seconds_;
  std::size_t started_ = 0;
  double said_seconds_ = 0;  ///< when the last line came
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// "45 s", "3 min 20 s"
std::string duration_text(double seconds);

}  // namespace vostok::bench
