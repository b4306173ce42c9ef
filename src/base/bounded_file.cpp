#include "base/bounded_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/text.hpp"

namespace vostok {

namespace {

[[noreturn]] void fail_to_read(const std::filesystem::path& path, const std::string& reason) {
  fail(ErrorCode::io_failure, "cannot read {}: {}", path.string(), reason);
}

std::string system_reason() { return std::generic_category().message(errno); }

class File {
 public:
  explicit File(const std::filesystem::path& path) : path_(path) {
    struct stat status = {};
    // Looked at before it is opened: opening some devices does something.
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) fail_to_read(path_, "it is no regular file");
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor_ < 0) fail_to_read(path_, system_reason());
    if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
      claimed_bytes_ = status.st_size;
      return;
    }
    ::close(descriptor_);
    fail_to_read(path_, "it is no regular file");
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::int64_t claimed_bytes() const { return claimed_bytes_; }

  /// Up to so many bytes, from where the last call ended.
  std::string read(std::int64_t most_bytes) const {
    const auto most = static_cast<std::size_t>(most_bytes);
    std::string bytes(std::min(most, static_cast<std::size_t>(claimed_bytes_) + 1), '\0');
    std::size_t filled = 0;
    while (filled < most) {
      if (filled == bytes.size()) bytes.resize(std::min(most, 2 * bytes.size()));
      const ssize_t count = ::read(descriptor_, bytes.data() + filled, bytes.size() - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail_to_read(path_, system_reason());
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    bytes.resize(filled);
    return bytes;
  }

 private:
  const std::filesystem::path& path_;
  int descriptor_ = -1;
  std::int64_t claimed_bytes_ = 0;
};

}  // namespace

std::string read_bounded(const std::filesystem::path& path, std::int64_t most_bytes) {
  const File file(path);
  if (file.claimed_bytes() > most_bytes) fail_to_read(path, fmt::format("it has {} bytes, more than {}", file.claimed_bytes(), most_bytes));
  // One byte more than it may have, so that a file that grows is noticed; files of /proc claim no size.
  std::string bytes = file.read(most_bytes + 1);
  if (static_cast<std::int64_t>(bytes.size()) > most_bytes) fail_to_read(path, fmt::format("it has more than {} bytes", most_bytes));
  return bytes;
}

std::string read_start(const std::filesystem::path& path, std::int64_t bytes) { return File(path).read(bytes); }

}  // namespace vostok
