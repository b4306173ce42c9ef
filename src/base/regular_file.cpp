#include "base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace vostok {

namespace {

std::string system_reason() { return std::generic_category().message(errno); }

/// Why this is no file; empty where it is one.
std::string doubt(const struct stat& status) {
  if (S_ISREG(status.st_mode)) return {};
  return S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file";
}

}  // namespace

RegularFile::RegularFile(std::filesystem::path path) : path_(std::move(path)) {
  struct stat status = {};
  // Looked at before it is opened: opening some devices does something.
  std::string reason = ::stat(path_.c_str(), &status) == 0 ? doubt(status) : std::string();
  if (!reason.empty()) refuse(reason);
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor_ < 0) refuse(system_reason());
  reason = ::fstat(descriptor_, &status) == 0 ? doubt(status) : system_reason();
  bytes_ = status.st_size;
  if (reason.empty()) return;
  ::close(descriptor_);
  refuse(reason);
}

RegularFile::~RegularFile() { ::close(descriptor_); }

std::size_t RegularFile::read(std::size_t from, std::span<std::byte> into) const {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const ssize_t more =
        ::pread(descriptor_, into.data() + filled, into.size() - filled, static_cast<off_t>(from + filled));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) refuse(system_reason());
    if (more == 0) break;
    filled += static_cast<std::size_t>(more);
  }
  return filled;
}

void RegularFile::refuse(const std::string& reason) const {
  fail(ErrorCode::io_failure, "cannot read {}: {}", path_.string(), reason);
}

}  // namespace vostok
