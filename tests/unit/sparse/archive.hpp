// Compressed files for the tests: stored blocks are deflate streams too, so that no compressor is needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vostok::sparse::testing {

inline std::string little_endian(std::uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

inline std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t remainder = 0xffffffff;
  for (const char byte : bytes) {
    remainder ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0xedb88320 : 0);
  }
  return ~remainder;
}

inline std::string deflated(std::string_view bytes) {
  constexpr std::size_t longest = 0xffff;
  std::string stream;
  do {
    const std::string_view block = bytes.substr(0, longest);
    bytes.remove_prefix(block.size());
    stream += (bytes.empty() ? "\1" : std::string(1, '\0')) + little_endian(block.size(), 2) +
              little_endian(~block.size() & longest, 2);
    stream += block;
  } while (!bytes.empty());
  return stream;
}

inline std::string gzipped(std::string_view bytes) {
  return std::string("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10) + deflated(bytes) + little_endian(crc32_of(bytes), 4) +
         little_endian(bytes.size(), 4);
}

/// How an archive is written; what is not as a correct one has it is for tests of damage.
struct ZipStyle {
  bool deflate = true;
  bool zip64 = false;  ///< sizes and offsets in ZIP64's places
  std::uint64_t flags = 0;
  int method = -1;                    ///< -1: that of `deflate`
  std::uint32_t checksum_change = 0;  ///< xor
  std::int64_t size_change = 0;       ///< of the unpacked bytes
  std::string comment = {};
};

using ZipMembers = std::vector<std::pair<std::string, std::string>>;

inline std::string zipped(const ZipMembers& members, const ZipStyle& style = {}) {
  std::string file, directory;
  constexpr std::uint32_t elsewhere = 0xffffffff;
  for (const auto& [name, bytes] : members) {
    const std::string packed = style.deflate ? deflated(bytes) : bytes;
    const std::uint64_t size = bytes.size() + static_cast<std::uint64_t>(style.size_change);
    const auto narrow = [&](std::uint64_t value) { return little_endian(style.zip64 ? elsewhere : value, 4); };
    const std::string sizes = little_endian(size, 8) + little_endian(packed.size(), 8);
    const std::string local_extra = style.zip64 ? little_endian(1, 2) + little_endian(16, 2) + sizes : "";
    const std::string extra = style.zip64 ? little_endian(7, 2) + little_endian(0, 2) + little_endian(1, 2) +
                                                little_endian(24, 2) + sizes + little_endian(file.size(), 8)
                                          : "";
    const std::string common =
        little_endian(style.flags, 2) +
        little_endian(static_cast<std::uint64_t>(style.method < 0 ? (style.deflate ? 8 : 0) : style.method), 2) +
        little_endian(0, 4) + little_endian(crc32_of(bytes) ^ style.checksum_change, 4) + narrow(packed.size()) +
        narrow(size) + little_endian(name.size(), 2);
    directory += "PK\1\2" + little_endian(45, 2) + little_endian(45, 2) + common + little_endian(extra.size(), 2) +
                 std::string(10, '\0') + narrow(file.size()) + name + extra;
    file +=
        "PK\3\4" + little_endian(45, 2) + common + little_endian(local_extra.size(), 2) + name + local_extra + packed;
  }
  const std::uint64_t begin = file.size(), count = members.size();
  const std::uint64_t record = begin + directory.size();
  file += directory;
  if (style.zip64)
    file += "PK\6\6" + little_endian(44, 8) + little_endian(45, 2) + little_endian(45, 2) + little_endian(0, 8) +
            little_endian(count, 8) + little_endian(count, 8) + little_endian(directory.size(), 8) +
            little_endian(begin, 8) + "PK\6\7" + little_endian(0, 4) + little_endian(record, 8) + little_endian(1, 4);
  return file + "PK\5\6" + little_endian(0, 4) + little_endian(style.zip64 ? 0xffff : count, 2) +
         little_endian(style.zip64 ? 0xffff : count, 2) + little_endian(directory.size(), 4) +
         little_endian(style.zip64 ? elsewhere : begin, 4) + little_endian(style.comment.size(), 2) + style.comment;
}

}  // namespace vostok::sparse::testing
