#include "plan/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace vostok::plan {

namespace {

[[noreturn]] void fail_to_read(const std::filesystem::path& path, const std::string& reason) {
  fail(ErrorCode::io_failure, "cannot read {}: {}", path.string(), reason);
}

std::string system_reason() { return std::generic_category().message(errno); }

}  // namespace

RegularFile::RegularFile(std::filesystem::path path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_to_read(path_, system_reason());
  struct stat status = {};
  std::string reason;
  if (::fstat(descriptor_, &status) != 0) reason = system_reason();
  else if (!S_ISREG(status.st_mode)) reason = S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file";
  bytes_ = status.st_size;
  if (reason.empty()) return;
  ::close(descriptor_);
  fail_to_read(path_, reason);
}

RegularFile::~RegularFile() { ::close(descriptor_); }

std::vector<std::byte> RegularFile::read(std::int64_t count) const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, bytes_)));
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t more = ::pread(descriptor_, bytes.data() + filled, bytes.size() - filled, static_cast<off_t>(filled));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) fail_to_read(path_, system_reason());
    if (more == 0) fail_to_read(path_, "it became shorter meanwhile");
    filled += static_cast<std::size_t>(more);
  }
  return bytes;
}

}  // namespace vostok::plan
