// Progress on stderr: a line that is rewritten on a terminal, and a line now and then elsewhere.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace vostok::cli {

/// Thread-safe: messages of several threads are printed one after another.
class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const std::string& text);
  /// Whether stderr is a terminal, where the line is rewritten.
  static bool is_on_terminal();
  /// Clears the line on the terminal, so that something else can be printed.
  void clear();
  /// Prints a line that stays.
  void note(std::string_view text);

 private:
  void take_off();
  void print(std::string_view text);

  std::mutex mutex_;
  bool shown_ = false;
  std::optional<std::chrono::steady_clock::time_point> noted_;  ///< time of the last line if there is no terminal
};

}  // namespace vostok::cli
