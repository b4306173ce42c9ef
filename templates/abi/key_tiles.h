// A mask as attention on tensor cores walks it: for each block of queries the keys that any of them names, 64 to a
// tile, and which query names which as bits. Keys that no query of the block names are not there, so that a tile is
// full of what the block needs, wherever in the matrix it lies. What the topology makes and kernels read.
//
// The bits of a strip of 16 queries lie as the fragments of its scores do (parts/mma.h): a word for each lane. Bit
// 4 * octet + i is element i of the lane's fragment of keys 8 * octet on.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

/// Keys of a tile.
consteval int tile_keys() { return 64; }
/// Queries whose scores are one fragment.
consteval int strip_queries() { return 16; }

/// Words of a tile's bits, for so many queries of a block.
constexpr int tile_words(int queries) { return queries / strip_queries() * 32; }

struct KeyTiles {
  const int* first_tiles;  ///< [blocks + 1]: the number of each block's first tile
  const int* order;        ///< blocks by tiles, most first
  const int* keys;         ///< [tiles, 64], ascending in a block; behind a block's last key: -1
  const unsigned* bits;    ///< [tiles, queries / 16, 32]
  const int* starts;       ///< [tiles, queries]: the place among the mask's elements of the first that a query has in
                           ///< the tile; null unless needed. Of a query that has none there it may be anything
  int block_count;
  int tile_count;
};

/// Columns that a step looks at at a time.
consteval int key_window() { return 65536; }

/// The steps that make them.
struct KeyStepTraits {
  IndexType index = IndexType::i32;
};

struct KeyStepArgs {
  const int* row_offsets;
  const void* column_indices;
  unsigned* tile_counts;  ///< [blocks]
  const int* first_tiles;
  int* keys;
  unsigned* bits;  ///< zero before
  int* starts;
  long long rows;
  long long cols;
  int block_queries;
  int block_count;
};

template <FieldsOf<KeyStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
}

/// Dynamic shared memory of a step: a bit for each column of a window, the keys before each word, and sums.
consteval int key_step_shared_bytes() { return 2 * key_window() / 8 + 8 * 256 / 32; }

}  // namespace vostok
