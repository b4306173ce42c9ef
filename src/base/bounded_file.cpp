#include "base/bounded_file.hpp"

#include <algorithm>

#include "base/regular_file.hpp"
#include "base/text.hpp"

namespace vostok {

namespace {

/// As many bytes as there are, at most so many; what a file claims is a first guess.
std::string read_up_to(const RegularFile& file, std::int64_t most_bytes) {
  const auto most = static_cast<std::size_t>(most_bytes);
  std::string bytes(std::min(most, static_cast<std::size_t>(file.bytes()) + 1), '\0');
  std::size_t filled = 0;
  for (;;) {
    filled += file.read(filled, std::as_writable_bytes(std::span(bytes)).subspan(filled));
    if (filled < bytes.size() || filled == most) break;
    bytes.resize(std::min(most, 2 * bytes.size()));
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

std::string read_bounded(const std::filesystem::path& path, std::int64_t most_bytes) {
  const RegularFile file(path);
  if (file.bytes() > most_bytes) file.refuse(fmt::format("it has {} bytes, more than {}", file.bytes(), most_bytes));
  // One byte more than it may have, so that a file that grows is noticed; files of /proc claim no size.
  std::string bytes = read_up_to(file, most_bytes + 1);
  if (static_cast<std::int64_t>(bytes.size()) > most_bytes)
    file.refuse(fmt::format("it has more than {} bytes", most_bytes));
  return bytes;
}

std::string read_start(const std::filesystem::path& path, std::int64_t bytes) {
  return read_up_to(RegularFile(path), bytes);
}

}  // namespace vostok
