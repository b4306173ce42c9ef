#include "cli/progress_line.hpp"

#include <unistd.h>

#include <cstdio>

#include "base/printable.hpp"
#include "cli/console.hpp"

namespace vostok::cli {

void ProgressLine::update(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!is_on_terminal()) {
    constexpr std::chrono::seconds between(2);  // avoids flooding a log file
    const auto now = std::chrono::steady_clock::now();
    if (noted_ && now - *noted_ < between) return;
    noted_ = now;
    return print(text);
  }
  std::fprintf(stderr, "\r%s\x1b[K", printable(text).c_str());
  std::fflush(stderr);
  shown_ = true;
}

bool ProgressLine::is_on_terminal() { return isatty(STDERR_FILENO) != 0; }

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
  tell(text);
}

}  // namespace vostok::cli
