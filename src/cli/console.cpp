#include "cli/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace vostok::cli {

void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened in the wrong direction, so that using it fails like a closed stream. The lowest free number is this
    // stream's.
    [[maybe_unused]] const int held = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

namespace {

[[noreturn]] void fail_output() {
  const int reason = errno;
  std::clearerr(stdout);  // the error is reported here
  fail(ErrorCode::io_failure, "cannot write to standard output: {}", std::strerror(reason));
}

/// Writes everything beyond the buffer; the rest is written at the end (output_failure).
void write_out(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_output();
}

}  // namespace

void print(std::string_view text) { write_out(printable_lines(text)); }

void print_aside(std::string_view text) { std::fputs(printable_lines(text).c_str(), stderr); }

void print_data(std::string_view text) {
  if (::isatty(STDOUT_FILENO) != 0) print(text);
  else write_out(std::string(text));
}

void tell(std::string_view sentence) { std::fprintf(stderr, "vostok: %s\n", printable_lines(sentence).c_str()); }

void flush_output() {
  if (std::fflush(stdout) != 0) fail_output();
}

std::string output_failure() {
  if (std::fflush(stdout) != 0) return std::strerror(errno);
  return std::ferror(stdout) != 0 ? "a part of it is lost" : "";
}

}  // namespace vostok::cli
