#include "device/emulator/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace vostok::device::emulator {

MemoryFile::MemoryFile(const char* name, std::string_view content) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
  if (descriptor_ < 0) fail(ErrorCode::io_failure, "cannot make a file in memory for {}: {}", name, std::strerror(errno));
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
