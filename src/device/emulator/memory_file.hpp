// A file in memory (memfd) for the compiler's input and output, so that no temporary folder is needed.
#pragma once

#include <string>
#include <string_view>

namespace vostok::device::emulator {

class MemoryFile {
 public:
  /// Errors: io_failure, which names the limit if no descriptor is left.
  explicit MemoryFile(const char* name, std::string_view content = {});
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  int descriptor() const { return descriptor_; }
  /// Everything in it.
  std::string read() const;
  /// A path that opens it in this process, and in a child that shares it, as long as this object lives.
  std::string path() const;

 private:
  int descriptor_ = -1;
};

}  // namespace vostok::device::emulator
