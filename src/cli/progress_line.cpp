#include "cli/progress_line.hpp"

#include <unistd.h>

#include <cstdio>

namespace vostok::cli {

void ProgressLine::update(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (isatty(STDERR_FILENO) == 0) {
    constexpr std::chrono::seconds between(2);  // a log file is not to be flooded
    const auto now = std::chrono::steady_clock::now();
    if (noted_ && now - *noted_ < between) return;
    noted_ = now;
    return print(text);
  }
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  take_off();
}

void ProgressLine::note(std::string_view text) {
  const std::lock_guard lock(mutex_);
  print(text);
}

void ProgressLine::take_off() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void ProgressLine::print(std::string_view text) {
  take_off();
  std::fprintf(stderr, "vostok: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace vostok::cli
