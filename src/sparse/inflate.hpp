// Compressed bytes, by zlib. A library that was built without it refuses by name.
#pragma once

#include <cstdint>
#include <string>

#include "sparse/source.hpp"

namespace vostok::sparse {

/// Whether the library was built with zlib.
bool can_inflate();

/// What a gzip file holds, of one or several parts. Errors: invalid_topology (damaged), out_of_memory (it holds more
/// than a part of source.memory_bytes), unsupported (no zlib).
std::string inflate_gzip(const Source& source);

/// A deflate stream without a header that makes `inflated_bytes` with that checksum. Errors: as inflate_gzip.
std::string inflate_raw(const Source& source, std::int64_t inflated_bytes, std::uint32_t checksum);

/// The bytes, whose checksum must be that. Errors: as inflate_gzip.
void require_checksum(const Source& source, std::uint32_t checksum);

}  // namespace vostok::sparse
