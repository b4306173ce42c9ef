#include "base/bounded_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/text.hpp"

namespace vostok {

namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path) : number_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

[[noreturn]] void fail_to_read(const std::filesystem::path& path, const std::string& reason) {
  fail(ErrorCode::io_failure, "cannot read {}: {}", path.string(), reason);
}

std::string system_reason() { return std::generic_category().message(errno); }

}  // namespace

std::string read_bounded(const std::filesystem::path& path, std::int64_t most_bytes) {
  struct stat status = {};
  // Looked at before it is opened: opening some devices does something.
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) fail_to_read(path, "it is no regular file");
  const Descriptor file(path);
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) fail_to_read(path, system_reason());
  if (!S_ISREG(status.st_mode)) fail_to_read(path, "it is no regular file");
  if (status.st_size > most_bytes) fail_to_read(path, fmt::format("it has {} bytes, more than {}", status.st_size, most_bytes));
  // One byte more than it says: files that grow, and those of /proc that claim no size, are read to their end too.
  std::string bytes(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t filled = 0;
  while (true) {
    const ssize_t count = ::read(file.number(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_read(path, system_reason());
    filled += static_cast<std::size_t>(count);
    if (count == 0) break;
    if (static_cast<std::int64_t>(filled) > most_bytes) fail_to_read(path, fmt::format("it has more than {} bytes", most_bytes));
    if (filled == bytes.size()) bytes.resize(2 * bytes.size());
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace vostok
