#include "sparse/inflate.hpp"

#include <algorithm>
#include <limits>

#ifdef VOSTOK_ZLIB
#include <zlib.h>
#endif

namespace vostok::sparse {

#ifdef VOSTOK_ZLIB

namespace {

[[noreturn]] void damaged_stream(const Source& source, const std::string& reason) {
  refuse(source, ErrorCode::invalid_topology, fmt::format("its compressed data is damaged: {}", reason));
}

/// zlib's view of a source: it counts in 32 bits, and buffers may be longer.
class Inflater {
 public:
  Inflater(const Source& source, int window_bits) : source_(source), left_(source.bytes) {
    if (inflateInit2(&stream_, window_bits) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `into` as far as the stream goes, and tells how many bytes that made: fewer than `size` at its end.
  std::size_t inflate_into(char* into, std::size_t size) {
    std::size_t filled = 0;
    while (filled < size && !ended_) {
      give_input();
      const uInt room = capped(size - filled);
      stream_.next_out = reinterpret_cast<Bytef*>(into + filled);
      stream_.avail_out = room;
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      filled += room - stream_.avail_out;
      take_input();
      if (status == Z_STREAM_END) ended_ = true;
      else if (status == Z_MEM_ERROR) throw std::bad_alloc();
      else if (status == Z_BUF_ERROR) damaged_stream(source_, "it ends too early");  // no progress: all input is used
      else if (status != Z_OK) damaged_stream(source_, stream_.msg != nullptr ? stream_.msg : "zlib refuses it");
    }
    return filled;
  }

  bool ended() const { return ended_; }
  std::string_view left() const { return left_; }
  /// Goes on with a stream that follows.
  void restart() {
    inflateReset(&stream_);
    ended_ = false;
  }

 private:
  static uInt capped(std::size_t bytes) {
    return static_cast<uInt>(std::min<std::size_t>(bytes, std::numeric_limits<uInt>::max()));
  }
  void give_input() {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(left_.data()));  // zlib reads it only
    stream_.avail_in = capped(left_.size());
  }
  void take_input() { left_.remove_prefix(capped(left_.size()) - stream_.avail_in); }

  const Source& source_;
  std::string_view left_;
  z_stream stream_ = {};
  bool ended_ = false;
};

/// Twice as long. Growing copies, so that a third of the memory is all that one string may become.
void grow(const Source& source, std::string& bytes) {
  const auto wanted = static_cast<std::int64_t>(2 * bytes.size());
  if (wanted > source.memory_bytes / 3)
    refuse(source, ErrorCode::out_of_memory,
           fmt::format("its {} bytes unpack to more than {}, and {} bytes of memory are free", source.bytes.size(),
                       bytes.size(), source.memory_bytes));
  bytes.resize(2 * bytes.size());
}

std::string all_parts(const Source& source) {
  constexpr int gzip_header = 15 + 16;
  Inflater inflater(source, gzip_header);
  std::string bytes(std::size_t{1} << 16, '\0');
  std::size_t filled = 0;
  while (true) {
    filled += inflater.inflate_into(bytes.data() + filled, bytes.size() - filled);
    if (!inflater.ended()) {
      grow(source, bytes);
      continue;
    }
    if (inflater.left().find_first_not_of('\0') == std::string_view::npos) break;  // tapes pad with zeros
    inflater.restart();
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

bool can_inflate() { return true; }

std::string inflate_gzip(const Source& source) {
  return read_named(source, [&] { return all_parts(source); });
}

std::string inflate_raw(const Source& source, std::int64_t inflated_bytes, std::uint32_t checksum) {
  require_memory(source, inflated_bytes, "its unpacked bytes");
  constexpr int no_header = -15;
  Inflater inflater(source, no_header);
  // A byte more: the end is seen, and too long a stream.
  std::string bytes(static_cast<std::size_t>(inflated_bytes) + 1, '\0');
  const std::size_t filled = inflater.inflate_into(bytes.data(), bytes.size());
  if (static_cast<std::int64_t>(filled) != inflated_bytes)
    damaged_stream(source, fmt::format("it holds {} bytes, not {}{}", filled, inflated_bytes,
                                       inflater.ended() ? "" : ", or more"));
  bytes.pop_back();
  Source unpacked = source;
  unpacked.bytes = bytes;
  require_checksum(unpacked, checksum);
  return bytes;
}

void require_checksum(const Source& source, std::uint32_t checksum) {
  const auto* const begin = reinterpret_cast<const Bytef*>(source.bytes.data());
  if (::crc32_z(0, begin, source.bytes.size()) != checksum)
    damaged_stream(source, "its checksum is not that of its bytes");
}

#else

namespace {

[[noreturn]] void refuse_compressed(const Source& source) {
  refuse(source, ErrorCode::unsupported, "it is compressed, and this library was built without zlib");
}

}  // namespace

bool can_inflate() { return false; }

std::string inflate_gzip(const Source& source) { refuse_compressed(source); }

std::string inflate_raw(const Source& source, std::int64_t /*inflated_bytes*/, std::uint32_t /*checksum*/) {
  refuse_compressed(source);
}

void require_checksum(const Source& source, std::uint32_t /*checksum*/) { refuse_compressed(source); }

#endif

}  // namespace vostok::sparse
