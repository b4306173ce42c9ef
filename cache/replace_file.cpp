#include "cache/replace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>

#include <vostok/error.hpp>

#include "base/text.hpp"

namespace vostok::cache {

namespace {

/// So that after a power cut the new name does not lead to an empty file.
void flush_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

void replace_file(const std::filesystem::path& path, const std::function<void(const std::filesystem::path& fresh)>& make) {
  const std::filesystem::path fresh = path.string() + fmt::format(".new-{}", getpid());
  std::error_code failure;
  std::filesystem::remove(fresh, failure);
  try {
    make(fresh);
    flush_file(fresh);
    std::filesystem::rename(fresh, path, failure);
    if (failure) fail(ErrorCode::io_failure, "cannot write {}: {}", path.string(), failure.message());
  } catch (...) {
    std::filesystem::remove(fresh, failure);
    throw;
  }
}

}  // namespace vostok::cache
