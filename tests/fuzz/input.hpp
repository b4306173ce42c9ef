// What every fuzz target shares: its one entry, an input as a file, and what counts as a fault.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <vostok/error.hpp>

namespace vostok::fuzz {

/// Reads one input, as a user would hand it over. Each target defines it.
void read_input(std::string_view bytes);

/// Ends the process as a crash does, so that the input is kept.
inline void require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: it does not hold that %s\n", claim);
  std::abort();
}

/// Runs `work`, which may refuse its input with a vostok::Error that says why, and with nothing else. Whether it took
/// it.
template <class Work>
bool takes(Work&& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    require(error.what()[0] != '\0', "an error has a reason");
    return false;
  }
}

/// A file in memory, for readers that open a path.
class InputFile {
 public:
  explicit InputFile(std::string_view bytes) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    require(descriptor_ >= 0 && ::write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
            "a file in memory can be made");
    require(::lseek(descriptor_, 0, SEEK_SET) == 0, "a file in memory can be read");
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace vostok::fuzz
