// A mask cut into tiles whose dense products tensor cores compute: which tiles hold nonzeros, and which elements of
// each. What the topology makes and kernels read.
//
// Tile (r, c) holds rows r * rows to (r + 1) * rows and the like of columns. Those that hold nonzeros are listed by
// rows, then by columns; behind them may be tiles without entries. A tile's entries are its nonzeros by rows, then by
// columns. The rows of the mask are sorted, so that the entries of a row in a tile are neighbours in CSR order: one
// number for each row tells where.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

/// Rows are a multiple of 32, and a tile has at most 2^16 elements.
struct TileShape {
  int rows = 0;
  int columns = 0;

  friend constexpr bool operator==(const TileShape&, const TileShape&) = default;
};

struct alignas(16) SampleTile {
  unsigned row_tile = 0;
  unsigned column_tile = 0;
  unsigned first_entry = 0;  ///< in `places`: a multiple of entries_of_chunk()
  unsigned entries = 0;
};

/// Lists start at multiples of 16 bytes.
consteval unsigned entries_of_chunk() { return 8; }
constexpr unsigned padded_entries(unsigned entries) {
  return (entries + entries_of_chunk() - 1) / entries_of_chunk() * entries_of_chunk();
}

struct TileLists {
  const SampleTile* tiles;
  const int*
      row_shifts;  ///< [tiles, rows]: an entry's number in its tile plus its row's shift is its place in CSR order
  const unsigned short* places;  ///< row * columns + column in the tile, for each entry
  unsigned tile_count;           ///< those without entries included
};

/// The steps that make them.
struct TileStepTraits {
  IndexType index = IndexType::i32;
};

struct TileStepArgs {
  const int* row_offsets;
  const void* column_indices;
  unsigned* list_lengths;    ///< of every tile of the matrix, padded
  unsigned* occupied;        ///< 1 where a tile holds nonzeros, else 0
  const int* first_entries;  ///< sums of list_lengths
  const int* numbers;        ///< sums of occupied: a tile's number in the list
  SampleTile* tiles;         ///< the parts of TileLists
  int* row_shifts;
  unsigned short* places;
  long long rows;
  long long nonzeros;
  long long tile_count;  ///< of the matrix
  int tile_rows;
  int tile_columns;
  int column_tiles;
};

template <FieldsOf<TileStepTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("index", traits.index);
}

}  // namespace vostok
