#include "sparse/zip_file.hpp"

#include <algorithm>
#include <cstring>

#include "sparse/inflate.hpp"

namespace vostok::sparse {
namespace {

constexpr std::uint64_t in_zip64 = 0xffffffff;  // a size or an offset that has its place elsewhere

}  // namespace

ZipFile::ZipFile(const Source& source) : source_(source) {
  const Directory directory = find_directory();
  std::uint64_t at = directory.at;
  // Each entry moves on, or the file is damaged: it bounds the count.
  for (std::uint64_t i = 0; i < directory.count; ++i) members_.push_back(read_member(at));
}

std::string ZipFile::read(std::string_view name, std::int64_t memory_bytes) const {
  const Member* const member = find(name);
  if (member == nullptr) damaged(fmt::format("it has no {}", name));
  constexpr std::uint64_t encrypted = 1;
  if ((member->flags & encrypted) != 0) refuse(source_, ErrorCode::unsupported, fmt::format("{} is encrypted", name));
  const Source packed_source = {
      .bytes = packed(*member), .name = source_.name + ": " + std::string(name), .memory_bytes = memory_bytes};
  const auto size = static_cast<std::int64_t>(std::min<std::uint64_t>(member->bytes, INT64_MAX));
  const auto checksum = static_cast<std::uint32_t>(member->checksum);
  constexpr std::uint64_t stored = 0;
  constexpr std::uint64_t deflated = 8;
  if (member->method == deflated) return inflate_raw(packed_source, size, checksum);
  if (member->method != stored)
    refuse(source_, ErrorCode::unsupported,
           fmt::format("{} is packed by method {}, not stored or deflated", name, member->method));
  if (member->bytes != member->packed_bytes)
    damaged(fmt::format("{} is stored, but takes {} bytes, not {}", name, member->packed_bytes, size));
  require_memory(packed_source, size, "its bytes");
  require_checksum(packed_source, checksum);
  return std::string(packed_source.bytes);
}

/// The last of that name, as other readers take it.
const ZipFile::Member* ZipFile::find(std::string_view name) const {
  const auto found =
      std::find_if(members_.rbegin(), members_.rend(), [&](const Member& member) { return member.name == name; });
  return found == members_.rend() ? nullptr : &*found;
}

/// Where the directory begins, told at the file's end: in front of a comment, or of ZIP64's record and its locator.
ZipFile::Directory ZipFile::find_directory() const {
  constexpr std::uint64_t end_bytes = 22;
  constexpr std::uint64_t longest_comment = 0xffff;
  constexpr std::uint64_t locator_bytes = 20;
  const std::uint64_t size = source_.bytes.size();
  for (std::uint64_t behind = end_bytes; behind <= std::min(size, end_bytes + longest_comment); ++behind) {
    const std::uint64_t end = size - behind;
    if (!has_mark(end, "PK\5\6") || number(end + 20, 2) != behind - end_bytes) continue;
    if (end < locator_bytes || !has_mark(end - locator_bytes, "PK\6\7"))
      return {.at = number(end + 16, 4), .count = number(end + 10, 2)};
    const std::uint64_t record = number(end - locator_bytes + 8, 8);
    if (!has_mark(record, "PK\6\6")) damaged("its ZIP64 directory is not where it should be");
    return {.at = number(record + 48, 8), .count = number(record + 32, 8)};
  }
  damaged("it does not end like a ZIP archive");
}

/// A member's entry in the directory; `at` moves behind it.
ZipFile::Member ZipFile::read_member(std::uint64_t& at) const {
  constexpr std::uint64_t entry_bytes = 46;
  if (!has_mark(at, "PK\1\2")) damaged("its directory ends too early");
  const std::uint64_t name_bytes = number(at + 28, 2), extra_bytes = number(at + 30, 2),
                      comment_bytes = number(at + 32, 2);
  const std::uint64_t extra = at + entry_bytes + name_bytes;
  Member member = {.name = bytes(at + entry_bytes, name_bytes),
                   .flags = number(at + 8, 2),
                   .method = number(at + 10, 2),
                   .checksum = number(at + 16, 4),
                   .packed_bytes = number(at + 20, 4),
                   .bytes = number(at + 24, 4),
                   .header_at = number(at + 42, 4)};
  read_long_sizes(member, extra, extra + extra_bytes);
  at = extra + extra_bytes + comment_bytes;
  return member;
}

/// ZIP64's extra field has those that do not fit in 32 bits, in this order.
void ZipFile::read_long_sizes(Member& member, std::uint64_t at, std::uint64_t end) const {
  constexpr std::uint64_t zip64 = 1;
  while (at + 4 <= end) {
    const std::uint64_t kind = number(at, 2), field_end = at + 4 + number(at + 2, 2);
    std::uint64_t place = at + 4;
    for (std::uint64_t* size : {&member.bytes, &member.packed_bytes, &member.header_at}) {
      if (kind != zip64 || *size != in_zip64 || place + 8 > field_end) continue;
      *size = number(place, 8);
      place += 8;
    }
    at = field_end;
  }
}

std::string_view ZipFile::packed(const Member& member) const {
  constexpr std::uint64_t header_bytes = 30;
  if (!has_mark(member.header_at, "PK\3\4")) damaged(fmt::format("{} is not where the directory says", member.name));
  const std::uint64_t behind = number(member.header_at + 26, 2) + number(member.header_at + 28, 2);
  return bytes(member.header_at + header_bytes + behind, member.packed_bytes);
}

std::string_view ZipFile::bytes(std::uint64_t at, std::uint64_t count) const {
  const std::uint64_t size = source_.bytes.size();
  if (at > size || count > size - at) damaged(fmt::format("it ends before the {} bytes at {}", count, at));
  return source_.bytes.substr(at, count);
}

std::uint64_t ZipFile::number(std::uint64_t at, std::uint64_t width) const {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes(at, width).data(), width);
  return value;
}

bool ZipFile::has_mark(std::uint64_t at, std::string_view mark) const {
  return at <= source_.bytes.size() && source_.bytes.substr(at).starts_with(mark);
}

void ZipFile::damaged(const std::string& reason) const { refuse(source_, ErrorCode::invalid_topology, reason); }

}  // namespace vostok::sparse
