// Progress on stderr: one line that is rewritten on a terminal, a line each elsewhere.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace vostok::cli {

class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const std::string& text);
  /// Takes the line off the terminal, so that something else can be printed.
  void clear();
  /// A line that stays.
  void note(std::string_view text);

 private:
  bool shown_ = false;
};

}  // namespace vostok::cli
