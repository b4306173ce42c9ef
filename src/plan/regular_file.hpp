// A file that may come from anywhere, opened without waiting: its length is known before anything of it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace vostok::plan {

class RegularFile {
 public:
  /// Errors: io_failure naming the file, where it is missing, cannot be read, or is a folder, a pipe or a device.
  explicit RegularFile(std::filesystem::path path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  std::int64_t bytes() const { return bytes_; }
  /// The first `count` bytes, at most all. Errors: io_failure where the file has become shorter.
  std::vector<std::byte> read(std::int64_t count) const;

 private:
  std::filesystem::path path_;
  int descriptor_;
  std::int64_t bytes_ = 0;
};

}  // namespace vostok::plan
