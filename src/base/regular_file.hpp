// A file of unknown origin, opened without waiting: its length is known before anything of it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace vostok {

class RegularFile {
 public:
  /// Errors: io_failure naming the file, where it is missing, cannot be read, or is a folder, a pipe or a device.
  explicit RegularFile(std::filesystem::path path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  /// What it claims to hold: nothing for files of /proc, and it may change while it is read.
  std::int64_t bytes() const { return bytes_; }
  /// What lies behind the first `from` bytes, until `into` is full or the file ends; how much that is. Errors:
  /// io_failure.
  std::size_t read(std::size_t from, std::span<std::byte> into) const;

  [[noreturn]] void refuse(const std::string& reason) const;  ///< io_failure: "cannot read FILE: REASON"

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

}  // namespace vostok
