#pragma once

#include <chrono>
#include <utility>

namespace vostok::bench {

/// Host time.
class StopWatch {
 public:
  /// Since the last call, or since it was made.
  double lap_us() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::micro>(now - std::exchange(lap_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point lap_ = std::chrono::steady_clock::now();
};

}  // namespace vostok::bench
