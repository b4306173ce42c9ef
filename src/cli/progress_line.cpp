#include "cli/progress_line.hpp"

#include <unistd.h>

#include <cstdio>

namespace vostok::cli {

void ProgressLine::update(const std::string& text) {
  if (isatty(STDERR_FILENO) == 0) {
    constexpr std::chrono::seconds between(2);  // a log file is not to be flooded
    const auto now = std::chrono::steady_clock::now();
    if (noted_ && now - *noted_ < between) return;
    noted_ = now;
    return note(text);
  }
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void ProgressLine::note(std::string_view text) {
  clear();
  std::fprintf(stderr, "vostok: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace vostok::cli
