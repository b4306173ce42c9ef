#include "cache/probe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace vostok::cache {

std::optional<PathFacts> Probe::facts(const std::filesystem::path& path) const {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  struct statvfs mount = {};
  const bool mount_is_known = ::statvfs(path.c_str(), &mount) == 0;
  return PathFacts{.is_folder = S_ISDIR(status.st_mode),
                   .is_writable = ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0,
                   .on_read_only_mount = mount_is_known && (mount.f_flag & ST_RDONLY) != 0,
                   .owner = status.st_uid,
                   .mode = status.st_mode & 07777U,
                   .bytes = status.st_size,
                   .device = status.st_dev,
                   .inode = status.st_ino};
}

std::int64_t Probe::filesystem_type(const std::filesystem::path& path) const {
  struct statfs status = {};
  return ::statfs(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.f_type) : 0;
}

unsigned Probe::user() const { return ::geteuid(); }

}  // namespace vostok::cache
