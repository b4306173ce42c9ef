#include "sparse/text_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace vostok::sparse {
namespace {

/// An open file that knows its name.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, const char* verb, int flags)
      : verb_(verb),
        name_(printable(path.string())),
        number_(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0666)) {
    if (number_ < 0) refuse_system();
  }
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  /// Whether it was closed without an error: what a full disk refuses may be known only then.
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

  [[noreturn]] void refuse(ErrorCode code, const std::string& reason) const {
    fail(code, "cannot {} {}: {}", verb_, name_, reason);
  }
  [[noreturn]] void refuse_system() const { refuse(ErrorCode::io_failure, std::strerror(errno)); }

 private:
  const char* verb_;
  std::string name_;
  int number_;
};

struct stat status_of(const Descriptor& file) {
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) file.refuse_system();
  if (S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && ::isatty(file.number()) == 0))
    file.refuse(ErrorCode::io_failure, "it is a device, neither a file nor a pipe");
  return status;
}

/// Waits until there is something to read, and tells whether. Errors: io_failure where that takes too long.
bool wait_for_bytes(const Descriptor& file, int patience_ms) {
  pollfd wanted = {.fd = file.number(), .events = POLLIN, .revents = 0};
  if (::poll(&wanted, 1, patience_ms) == 0)
    file.refuse(ErrorCode::io_failure,
                fmt::format("it is a pipe that nobody has written to for {} s", patience_ms / 1000));
  return (wanted.revents & POLLIN) != 0;
}

/// The next bytes, how many; 0 at the end. An empty pipe without a writer reads as one at its end: it is given a while.
std::size_t read_some(const Descriptor& file, char* into, std::size_t most, bool is_fresh_pipe) {
  constexpr int for_ever = -1;
  constexpr int patience_ms = 5000;
  while (true) {
    const ssize_t count = ::read(file.number(), into, most);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0 && !(is_fresh_pipe && wait_for_bytes(file, patience_ms))) return 0;
    if (count < 0 && errno == EAGAIN) wait_for_bytes(file, for_ever);
    else if (count < 0 && errno != EINTR) file.refuse_system();
  }
}

/// The first buffer: for what says how long it is, that and a byte, which finds the end.
std::size_t first_bytes(const Descriptor& file, const struct stat& status, std::int64_t available) {
  constexpr std::int64_t of_unknown_length = 1 << 16;
  if (!S_ISREG(status.st_mode)) return of_unknown_length;
  if (status.st_size >= available)
    file.refuse(ErrorCode::out_of_memory,
                fmt::format("it has {} bytes, and {} bytes of memory are free", status.st_size, available));
  return static_cast<std::size_t>(std::max(status.st_size + 1, of_unknown_length));
}

std::string read_all(const Descriptor& file, std::int64_t available) {
  const struct stat status = status_of(file);
  std::string bytes(first_bytes(file, status, available), '\0');
  std::size_t filled = 0;
  while (const std::size_t count =
             read_some(file, bytes.data() + filled, bytes.size() - filled, S_ISFIFO(status.st_mode) && filled == 0)) {
    filled += count;
    if (filled < bytes.size()) continue;
    if (static_cast<std::int64_t>(filled) > available / 4)  // a larger copy takes twice as much again
      file.refuse(ErrorCode::out_of_memory,
                  fmt::format("after {} bytes it has not ended, and {} bytes of memory were free", filled, available));
    bytes.resize(2 * filled);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

std::string read_bytes(const std::filesystem::path& path, std::int64_t memory_bytes) try {
  return read_all({path, "read", O_RDONLY | O_NONBLOCK}, memory_bytes);
} catch (const std::bad_alloc&) {
  fail(ErrorCode::out_of_memory, "cannot read {}: its bytes do not fit in memory", printable(path.string()));
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  Descriptor file(path, "write", O_WRONLY | O_CREAT | O_TRUNC);
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.number(), bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) file.refuse_system();
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  if (!file.close()) file.refuse_system();
}

}  // namespace vostok::sparse
