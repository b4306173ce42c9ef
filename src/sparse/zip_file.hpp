// The members of a ZIP archive in memory, of what NumPy's savez and savez_compressed write: stored or deflated, ZIP64
// where it is long.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sparse/source.hpp"

namespace vostok::sparse {

class ZipFile {
 public:
  /// Errors: invalid_topology where the directory is damaged, naming the file.
  explicit ZipFile(const Source& source);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// A member's bytes, their checksum verified. Errors: invalid_topology (none of that name, damaged), unsupported
  /// (packed in another way, encrypted, no zlib), out_of_memory (it says that it takes more than `memory_bytes`).
  std::string read(std::string_view name, std::int64_t memory_bytes) const;

 private:
  struct Member {
    std::string_view name;
    std::uint64_t flags = 0;
    std::uint64_t method = 0;
    std::uint64_t checksum = 0;
    std::uint64_t packed_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t header_at = 0;
  };
  struct Directory {
    std::uint64_t at = 0;
    std::uint64_t count = 0;
  };

  const Member* find(std::string_view name) const;
  Directory find_directory() const;
  Member read_member(std::uint64_t& at) const;
  void read_long_sizes(Member& member, std::uint64_t at, std::uint64_t end) const;
  std::string_view packed(const Member& member) const;

  std::string_view bytes(std::uint64_t at, std::uint64_t count) const;
  std::uint64_t number(std::uint64_t at, std::uint64_t width) const;
  bool has_mark(std::uint64_t at, std::string_view mark) const;
  [[noreturn]] void damaged(const std::string& reason) const;

  Source source_;
  std::vector<Member> members_;
};

}  // namespace vostok::sparse
