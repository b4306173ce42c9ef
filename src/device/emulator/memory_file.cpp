#include "device/emulator/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace vostok::device::emulator {

namespace {

/// The message for a process without free descriptors.
std::string descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  return fmt::format("; this process may have {} (ulimit -n)", limit.rlim_cur);
}

/// The descriptor, moved above standard streams that may be closed here, and above those that scripts around a compiler
/// open.
int moved_up(int descriptor) {
  constexpr int roomy = 100;
  for (const int lowest : {roomy, STDERR_FILENO + 1}) {
    if (descriptor >= lowest) return descriptor;
    if (const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest); moved >= 0) {
      close(descriptor);
      return moved;
    }
  }
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

int open_in_memory(const char* name) {
  const int descriptor = memfd_create(name, MFD_CLOEXEC);
  return descriptor < 0 ? descriptor : moved_up(descriptor);
}

}  // namespace

MemoryFile::MemoryFile(const char* name, std::string_view content) : descriptor_(open_in_memory(name)) {
  if (descriptor_ < 0) {
    const int error = errno;
    fail(ErrorCode::io_failure, "cannot make a file in memory for {}: {}{}", name, std::strerror(error),
         error == EMFILE ? descriptor_limit() : std::string());
  }
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t written = pwrite(descriptor_, content.data() + done, content.size() - done, static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = errno;
      close(descriptor_);
      fail(ErrorCode::io_failure, "cannot write {} bytes for {}: {}", content.size(), name, std::strerror(error));
    }
    done += static_cast<std::size_t>(written);
  }
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

MemoryFile::MemoryFile(MemoryFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

std::string MemoryFile::read() const {
  std::string content;
  for (char buffer[65536];;) {
    const ssize_t got = pread(descriptor_, buffer, sizeof buffer, static_cast<off_t>(content.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return content;
    content.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string MemoryFile::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

}  // namespace vostok::device::emulator
