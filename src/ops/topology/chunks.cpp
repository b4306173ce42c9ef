#include "ops/topology/chunks.hpp"

namespace vostok::ops {

void cut_chunks(const Queue& queue, const CsrArrays& csr, int chunk_items, ChunkStart* chunks,
                std::int64_t chunk_count) {
  const FillChunksArgs args{.row_offsets = static_cast<const std::int32_t*>(csr.row_offsets),
                            .chunks = chunks,
                            .rows = csr.rows,
                            .chunk_count = chunk_count,
                            .chunk_items = chunk_items};
  queue.launch(Step<FillChunksTraits>{"topology/chunks.h", "fill_chunks", "FillChunksTraits"},
               queue.blocks_for(chunk_count + 1), args);
}

}  // namespace vostok::ops
