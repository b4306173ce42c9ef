#pragma once

#include <chrono>
#include <utility>

namespace vostok {

/// Host time. Runs from when it is made.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  double ms() const { return 1e3 * seconds(); }
  /// Since the last lap, or since it was made.
  double lap_us() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::micro>(now - std::exchange(lap_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), lap_ = start_;
};

}  // namespace vostok
