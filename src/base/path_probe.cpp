#include "base/path_probe.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace vostok {

namespace {

PathFacts facts_of(const struct stat& status) {
  return {.is_folder = S_ISDIR(status.st_mode),
          .is_file = S_ISREG(status.st_mode),
          .is_link = S_ISLNK(status.st_mode),
          .owner = status.st_uid,
          .group = status.st_gid,
          .mode = status.st_mode & 07777U,
          .bytes = status.st_size,
          .device = status.st_dev,
          .inode = status.st_ino};
}

/// With a list the mode shows the most that any entry of it may do as the group's permission.
bool has_access_list(const PathFacts& facts, const std::filesystem::path& path) {
  return (facts.mode & S_IWGRP) != 0 && ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

/// Calls a function of the getpwuid_r kind with a larger buffer until it is enough. False: it found nothing.
bool look_up(std::vector<char>& buffer, const std::function<int(char*, std::size_t)>& call) {
  constexpr std::size_t largest = std::size_t{1} << 20U;
  int result = ERANGE;
  for (std::size_t bytes = 4096; result == ERANGE && bytes <= largest; bytes *= 4) {
    buffer.resize(bytes);
    result = call(buffer.data(), buffer.size());
  }
  return result == 0;
}

struct User {
  std::string name;
  unsigned group = 0;
};

std::optional<User> user_entry(unsigned number) {
  std::vector<char> buffer;
  passwd entry = {};
  passwd* found = nullptr;
  const auto call = [&](char* text, std::size_t bytes) { return ::getpwuid_r(number, &entry, text, bytes, &found); };
  if (!look_up(buffer, call) || found == nullptr) return std::nullopt;
  return User{.name = entry.pw_name, .group = entry.pw_gid};
}

/// Users whose primary group it is are not members by the lists: its name has to tell that it is one user's.
bool is_group_of_one(unsigned number, const std::string& user) {
  std::vector<char> buffer;
  group entry = {};
  group* found = nullptr;
  const auto call = [&](char* text, std::size_t bytes) { return ::getgrgid_r(number, &entry, text, bytes, &found); };
  if (!look_up(buffer, call) || found == nullptr || user != entry.gr_name) return false;
  for (char** member = entry.gr_mem; *member != nullptr; ++member)
    if (user != *member) return false;
  return true;
}

bool maps_every_user() {
  constexpr std::uint64_t every_user = 0xFFFFFFFF;  // the number -1 is none
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t mapped = 0;
  for (std::uint64_t inside = 0, outside = 0, count = 0; map >> inside >> outside >> count;) mapped += count;
  return mapped >= every_user;
}

unsigned overflow_user() {
  constexpr unsigned usual = 65534;
  std::ifstream file("/proc/sys/kernel/overflowuid");
  unsigned number = usual;
  return file >> number ? number : usual;
}

}  // namespace

std::optional<PathFacts> PathProbe::facts(const std::filesystem::path& path) const {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  PathFacts facts = facts_of(status);
  facts.is_writable = ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  facts.on_read_only_mount = is_on_read_only_mount(path);
  facts.has_access_list = has_access_list(facts, path);
  return facts;
}

std::optional<PathFacts> PathProbe::entry(const std::filesystem::path& path) const {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  PathFacts facts = facts_of(status);
  if (!facts.is_link) facts.has_access_list = has_access_list(facts, path);
  return facts;
}

bool PathProbe::is_on_read_only_mount(const std::filesystem::path& path) const {
  struct statvfs mount = {};
  return ::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0;
}

std::optional<std::filesystem::path> PathProbe::link_target(const std::filesystem::path& path) const {
  std::error_code failure;
  auto target = std::filesystem::read_symlink(path, failure);
  return failure ? std::nullopt : std::optional(std::move(target));
}

std::int64_t PathProbe::filesystem_type(const std::filesystem::path& path) const {
  struct statfs status = {};
  return ::statfs(path.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.f_type) : 0;
}

unsigned PathProbe::user() const { return ::geteuid(); }

bool PathProbe::is_private_group(unsigned group) const {
  if (group == 0) return true;
  const auto user = user_entry(PathProbe::user());
  return user && user->group == group && is_group_of_one(group, user->name);
}

bool PathProbe::is_known_owner(unsigned owner) const { return owner != overflow_user() || maps_every_user(); }

}  // namespace vostok
