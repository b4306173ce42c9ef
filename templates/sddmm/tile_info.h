// What is known of a tile before its sums are, in shared memory.
#pragma once

#include "abi/tile_lists.h"

namespace vostok {

/// A tile without entries is none. Parts start at multiples of 16 bytes.
template <class F>
struct alignas(16) TileInfo {
  static constexpr int rows = tile_rows(F::config);
  static constexpr int columns = tile_columns(F::config);
  SampleTile tile;
  int row_shifts[rows];
  signed char row_exponents[rows];
  signed char column_exponents[columns];  ///< bytes, so that no two of them lie in one bank but in one word
  unsigned short places[F::config.list_room];
};

}  // namespace vostok
