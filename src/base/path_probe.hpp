// What the library asks the operating system about paths. Tests answer in its place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace vostok {

struct PathFacts {
  bool is_folder = false;
  bool is_file = false;  ///< a regular one
  bool is_link = false;
  bool is_writable = false;  ///< by this process; this and the next: of `facts` only
  bool on_read_only_mount = false;
  bool has_access_list = false;  ///< its mode does not tell who can write; looked up only where the group can
  unsigned owner = 0;
  unsigned group = 0;
  unsigned mode = 0;  ///< permission bits and the sticky bit
  std::int64_t bytes = 0;
  std::uint64_t device = 0;  ///< with `inode`: which file it is, whatever its name
  std::uint64_t inode = 0;
};

class PathProbe {
 public:
  virtual ~PathProbe() = default;
  virtual std::optional<PathFacts> facts(
      const std::filesystem::path& path) const;  ///< of what a link points to; nothing where there is none
  virtual std::optional<PathFacts> entry(const std::filesystem::path& path) const;  ///< of a link itself
  virtual std::optional<std::filesystem::path> link_target(const std::filesystem::path& path) const;
  virtual bool is_on_read_only_mount(
      const std::filesystem::path& path) const;  ///< of what a link points to; false where unknown
  virtual std::int64_t filesystem_type(const std::filesystem::path& path) const;  ///< statfs magic; 0 where unknown
  virtual unsigned user() const;                                                  ///< effective
  /// Whether only root or this user is in the group: root's, or the user's primary one, of the same name and without
  /// other members. False where the system's lists do not say so.
  virtual bool is_private_group(unsigned group) const;
  /// False where the number stands for every owner that the process's user namespace does not know.
  virtual bool is_known_owner(unsigned owner) const;
};

}  // namespace vostok
