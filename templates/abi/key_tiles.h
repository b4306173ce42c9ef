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

/// Parts of a block's queries, of equal size, that may each skip tiles. Keys have classes then: the parts that name
/// them, a bit each.
consteval int most_query_parts() { return 3; }
constexpr int key_classes(int parts) { return (1 << parts) - 1; }

struct KeyTiles {
  const int* first_tiles;  ///< [blocks + 1]: the number of each block's first tile
  const int* order;        ///< blocks by tiles, most first
  const int* keys;        ///< [tiles, 64], ascending in a block, or of several parts in the tiles of a class, which lie
                          ///< among others; behind the last key of either: -1
  const unsigned* bits;   ///< [tiles, queries / 16, 32]
  const unsigned* taken;  ///< [parts, taken_words(tiles)]: a bit for each tile, whether the part names its keys; null
                          ///< where blocks have one part
  const int* starts;      ///< [tiles, queries]: the place among the mask's elements of the first that a query has in
                          ///< the tile; null unless needed. Of a query that has none there it may be anything
  int block_count;
  int tile_count;
};

/// More than there are tiles for: a reader looks 32 tiles ahead of one that is a ring's stages behind the last.
constexpr long long taken_words(long long tiles) { return tiles / 32 + 3; }

/// A block's keys by classes, and the order of their tiles. Tiles of two classes that have all parts between them
/// follow one another, so that no part waits while others multiply; such pairs, and what is left of each class, are
/// spread evenly.
struct ClassedKeys {
  static constexpr int most = key_classes(most_query_parts());
  unsigned counts[most];  ///< of class i + 1

  constexpr unsigned tiles(int at) const { return (counts[at] + tile_keys() - 1) / tile_keys(); }
  constexpr unsigned all_tiles() const {
    unsigned sum = 0;
    for (int at = 0; at < most; ++at) sum += tiles(at);
    return sum;
  }

  /// Where tile `tile` of class at + 1 is among the block's.
  constexpr unsigned place(int parts, int at, unsigned tile) const {
    const int other = partner(parts, at);
    const unsigned paired = pairs(parts, at);
    const bool in_pair = tile < paired;
    const Spread own = in_pair ? Spread{2 * (at < other ? at : other), paired} : Spread{2 * at + 1, tiles(at) - paired};
    const unsigned number = in_pair ? tile : tile - paired;
    unsigned before = in_pair && at > other ? 1 : 0;
    for (int one = 0; one < key_classes(parts); ++one) {
      const unsigned of_one = pairs(parts, one);
      if (one < partner(parts, one)) before += 2 * before_unit({2 * one, of_one}, own, number);
      before += before_unit({2 * one + 1, tiles(one) - of_one}, own, number);
    }
    return before;
  }

 private:
  /// Units of one kind: unit i is at (2 i + 1) / (2 count) of the block; of equal ones the lower kind is first.
  struct Spread {
    int kind;
    unsigned count;
  };
  /// The class of the parts that a class lacks; -1 if it lacks none.
  static constexpr int partner(int parts, int at) { return (key_classes(parts) ^ (at + 1)) - 1; }
  constexpr unsigned pairs(int parts, int at) const {
    const int other = partner(parts, at);
    if (other < 0) return 0;
    return tiles(at) < tiles(other) ? tiles(at) : tiles(other);
  }
  static constexpr unsigned before_unit(Spread some, Spread own, unsigned number) {
    if (some.kind == own.kind) return number;
    const unsigned long long limit = (2ULL * number + 1) * some.count;
    if (limit == 0) return 0;
    const unsigned long long largest_odd = (some.kind < own.kind ? limit : limit - 1) / own.count;
    return static_cast<unsigned>((largest_odd + 1) / 2);
  }
};

/// Columns that a step looks at at a time.
consteval int key_window() { return 65536; }

/// The steps that make them.
struct KeyStepTraits {
  IndexType index = IndexType::i32;
  int parts = 1;
};

struct KeyStepArgs {
  const int* row_offsets;
  const void* column_indices;
  unsigned* tile_counts;  ///< [blocks]
  unsigned* class_keys;   ///< [blocks, classes]
  const int* first_tiles;
  int* keys;
  unsigned* bits;   ///< zero before
  unsigned* taken;  ///< zero before
  int* starts;
  long long rows;
  long long cols;
  int block_queries;
  int block_count;
  int tile_count;
};

template <FieldsOf<KeyStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
  visit("parts", traits.parts);
}

/// Dynamic shared memory of a step: a bit for each column of a window and part, the keys of each class before each
/// word, and sums.
constexpr int key_step_shared_bytes(int parts) {
  return (parts + key_classes(parts)) * key_window() / 8 + 8 * 256 / 32;
}

}  // namespace vostok
