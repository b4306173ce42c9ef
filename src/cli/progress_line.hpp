// Progress on stderr: one line that is rewritten on a terminal, now and then a line elsewhere.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace vostok::cli {

/// Thread-safe: what several threads have to say comes one after the other.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const std::string& text);
  /// Whether it is a line of a terminal that is rewritten.
  static bool is_on_terminal();
  /// Takes the line off the terminal, so that something else can be printed.
  void clear();
  /// A line that stays.
  void note(std::string_view text);

 private:
  void take_off();
  void print(std::string_view text);

  std::mutex mutex_;
  bool shown_ = false;
  std::optional<std::chrono::steady_clock::time_point> noted_;  ///< when the last line was written where there is no terminal
};

}  // namespace vostok::cli
