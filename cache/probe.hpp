// What the cache asks the operating system about paths. Tests answer in its place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace vostok::cache {

struct PathFacts {
  bool is_folder = false;
  bool is_writable = false;  ///< by this process
  bool on_read_only_mount = false;
  unsigned owner = 0;
  unsigned mode = 0;  ///< permission bits and the sticky bit
  std::int64_t bytes = 0;
  std::uint64_t device = 0;  ///< with `inode`: which file it is, whatever its name
  std::uint64_t inode = 0;
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual std::optional<PathFacts> facts(const std::filesystem::path& path) const;  ///< of what a link points to; nothing where there is none
  virtual std::int64_t filesystem_type(const std::filesystem::path& path) const;    ///< statfs magic; 0 where unknown
  virtual unsigned user() const;                                                    ///< effective
};

}  // namespace vostok::cache
