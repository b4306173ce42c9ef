// nonzero_split, SpMM by equal shares of nonzeros: what host and kernels share.
#pragma once

#include "abi/chunk_start.h"
#include "abi/csr_product.h"

namespace vostok {

using NonzeroSplitTraits = CsrProductTraits;

/// The tunables.
struct NonzeroSplitConfig {
  int chunk_items = 128;     ///< nonzeros and row ends of a chunk: rows of fewer nonzeros are not cut
  int chunks_per_block = 8;  ///< neighbours, which add their parts of a row in shared memory
  int tile_columns = 128;    ///< columns of B and C of a block
  int threads_per_row = 32;  ///< lanes of a chunk, side by side along the columns
  int tile_nonzeros = 128;   ///< entries of a chunk per step
  int sparse_vector = 4;     ///< neighbouring entries that a lane loads
  int dense_vector = 4;      ///< elements per load of B and store of C
  int loads_in_flight =
      8;  ///< entries whose rows of B are loaded before the first is used, whichever rows of A they are of
  bool overlap_batches = false;  ///< the loads of the next batch are issued before this one is multiplied
  ColumnEdge column_edge = ColumnEdge::clamped;
  int min_blocks = 2;           ///< blocks per multiprocessor that registers must allow
  bool prefetch_sparse = true;  ///< the next step's entries are loaded while this one's are multiplied
  Raster raster = Raster::rows_first;
  bool stream_output = false;  ///< C is stored as data that will not be read soon
  bool prepare_dense = false;  ///< a column-major B is transposed into the workspace first
  bool pack_values = false;    ///< the values of a transposed A are gathered into the workspace first, not in the load

  friend constexpr bool operator==(const NonzeroSplitConfig&, const NonzeroSplitConfig&) = default;
};

/// Of the launch that adds what several blocks have of a row.
struct SplitRowsConfig {
  int ranges = 4;  ///< parts of a row's pieces that different lanes add
  int tile_columns = 128;
  int threads_per_row = 32;
  int dense_vector = 4;
  ColumnEdge column_edge = ColumnEdge::clamped;
  Raster raster = Raster::rows_first;
  bool stream_output = false;
};

/// Pieces: sums of parts of rows, f32, of every column. A block has two: `head` of the row that it ends and an earlier
/// one began, `tail` of the row that it leaves to the next one; either may not be there.
struct NonzeroSplitArgs {
  CsrProductArgs product;
  const ChunkStart* chunks;  ///< chunk_count + 1
  float* pieces;            ///< [batch, blocks, head and tail, piece_leading]; null where no row lies in several blocks
  long long piece_leading;  ///< elements between two pieces: a multiple of 16 bytes
  unsigned chunk_count;
  unsigned block_count;  ///< ceil(chunk_count / chunks_per_block)
  unsigned chunks_per_block;
  bool cuts_rows;  ///< some row is: its pieces are to be joined
};

template <FieldsOf<NonzeroSplitConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("chunk_items", config.chunk_items);
  visit("chunks_per_block", config.chunks_per_block);
  visit("tile_columns", config.tile_columns);
  visit("threads_per_row", config.threads_per_row);
  visit("tile_nonzeros", config.tile_nonzeros);
  visit("sparse_vector", config.sparse_vector);
  visit("dense_vector", config.dense_vector);
  visit("loads_in_flight", config.loads_in_flight);
  visit("overlap_batches", config.overlap_batches);
  visit("column_edge", config.column_edge);
  visit("min_blocks", config.min_blocks);
  visit("prefetch_sparse", config.prefetch_sparse);
  visit("raster", config.raster);
  visit("stream_output", config.stream_output);
  visit("prepare_dense", config.prepare_dense);
  visit("pack_values", config.pack_values);
}

template <FieldsOf<SplitRowsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("ranges", config.ranges);
  visit("tile_columns", config.tile_columns);
  visit("threads_per_row", config.threads_per_row);
  visit("dense_vector", config.dense_vector);
  visit("column_edge", config.column_edge);
  visit("raster", config.raster);
  visit("stream_output", config.stream_output);
}

constexpr int lanes_per_row(const NonzeroSplitConfig& config) { return config.threads_per_row; }
constexpr int threads(const NonzeroSplitConfig& config) { return config.chunks_per_block * config.threads_per_row; }
constexpr int threads(const SplitRowsConfig& config) { return config.ranges * config.threads_per_row; }
constexpr bool aligns_spans(const NonzeroSplitConfig&) { return true; }
constexpr bool prescales_indices(const NonzeroSplitConfig&) { return true; }

/// Whether sums of at most 256 products go into a second accumulator: the sums of smaller chunks are such blocks
/// themselves.
constexpr bool keeps_totals(const NonzeroSplitTraits& traits, const NonzeroSplitConfig& config) {
  return traits.blocked_sum && most_chunk_entries(config.chunk_items) > 256;
}

/// Dynamic shared memory of a block: every chunk's staged entries and two pieces.
constexpr int shared_bytes(const NonzeroSplitTraits& traits, const NonzeroSplitConfig& config) {
  return config.chunks_per_block * (staged_bytes(traits, config) + 2 * 4 * config.tile_columns);
}

/// A sum of each range.
constexpr int shared_bytes(const SplitRowsConfig& config) { return config.ranges * 4 * config.tile_columns; }

constexpr void kernel_rules(RuleCheck& rule, const NonzeroSplitTraits& t, const NonzeroSplitConfig& c) {
  rule("chunks number their nonzeros in 32 bits", [&] { return !t.wide_nonzeros; });
  rule("the lanes of a chunk lie in one warp: threads_per_row is a power of two of at most 32",
       [&] { return is_power_of_two(c.threads_per_row, 1, 32); });
  rule("a block has 1 to 32 whole warps", [&] { return is_block(c.chunks_per_block, c.threads_per_row); });
  rule("chunk_items is 1 to 4096", [&] { return within(c.chunk_items, 1, 4096); });
  dense_rules(rule, t, c);
  rule("sparse_vector is 1, 2, 4 or 8", [&] { return is_power_of_two(c.sparse_vector, 1, 8); });
  rule("tile_nonzeros is a power of two from 4 and sparse_vector to 256",
       [&] { return is_power_of_two(c.tile_nonzeros, 4, 256) && c.tile_nonzeros >= c.sparse_vector; });
  rule("loads_in_flight is a power of two of at most 16 that divides tile_nonzeros",
       [&] { return is_power_of_two(c.loads_in_flight, 1, 16) && c.loads_in_flight <= c.tile_nonzeros; });
}

}  // namespace vostok
