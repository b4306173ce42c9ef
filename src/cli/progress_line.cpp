#include "cli/progress_line.hpp"

#include <unistd.h>

namespace vostok::cli {

void ProgressLine::update(const std::string& text) {
  if (isatty(STDERR_FILENO) == 0) return note(text);
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
