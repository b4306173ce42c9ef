#include "cache/replace_file.hpp"

#include <fcntl.h>
#include <stdlib.h>  // NOLINT: mkdtemp
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include <vostok/error.hpp>

#include "base/text.hpp"

namespace vostok::cache {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& reason) {
  fail(ErrorCode::io_failure, "cannot write {}: {}", path.string(), reason);
}

std::string last_reason() { return std::generic_category().message(errno); }

/// Flushes the file, so that after a power cut the new name does not lead to an empty file.
void flush_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// The kind of a path that is not a regular file; empty for a file, or if nothing is there.
const char* what_it_is(const fs::path& path) {
  std::error_code ignored;
  switch (fs::symlink_status(path, ignored).type()) {
    case fs::file_type::directory: return "a folder";
    case fs::file_type::symlink: return "a link: name the file that it leads to";
    case fs::file_type::block:
    case fs::file_type::character: return "a device";
    case fs::file_type::fifo: return "a pipe";
    case fs::file_type::socket: return "a socket";
    default: return "";
  }
}

/// A folder in which nobody else can create files.
class PrivateFolder {
 public:
  explicit PrivateFolder(const fs::path& beside) : path_(beside.string() + ".new-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) fail_to_write(beside, last_reason());
  }
  ~PrivateFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  fs::path operator/(const fs::path& name) const { return fs::path(path_) / name; }

 private:
  std::string path_;
};

}  // namespace

void require_replaceable(const fs::path& path) {
  if (!path.has_filename()) fail_to_write(path, "it names no file");
  if (const std::string what = what_it_is(path); !what.empty()) fail_to_write(path, "it is " + what);
  const fs::path folder = folder_of(path);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) fail_to_write(path, fmt::format("there is no folder {}", folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail_to_write(path, fmt::format("its folder: {}", last_reason()));
}

void replace_file(const fs::path& path, const std::function<void(const fs::path& fresh)>& make) {
  require_replaceable(path);
  const PrivateFolder folder(path);
  const fs::path fresh = folder / path.filename();
  try {
    make(fresh);
    std::error_code ignored;
    if (const fs::file_status old = fs::status(path, ignored); fs::is_regular_file(old))
      fs::permissions(fresh, old.permissions());
    flush_file(fresh);
    fs::rename(fresh, path);
  } catch (const fs::filesystem_error& error) {
    fail_to_write(path, error.code().message());
  }
}

void replace_file(const fs::path& path, std::string_view text) {
  replace_file(path, [&](const fs::path& fresh) {
    std::ofstream file(fresh, std::ios::binary);
    file << text;
    file.close();
    if (!file) fail_to_write(path, last_reason());
  });
}

}  // namespace vostok::cache
