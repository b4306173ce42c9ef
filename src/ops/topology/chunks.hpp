// The table of a structure's chunks, made on the device.
#pragma once

#include <cstdint>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// sparse::chunk_starts. `chunks` has room for `chunk_count` + 1 entries.
void cut_chunks(const Queue& queue, const CsrArrays& csr, int chunk_items, ChunkStart* chunks,
                std::int64_t chunk_count);

}  // namespace vostok::ops
