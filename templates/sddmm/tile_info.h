// What is known of a tile before its sums are, in shared memory.
#pragma once

#include "abi/tile_lists.h"

namespace vostok {

/// SampleMark::byte() of a tile's rows and columns, and what follows from all of them.
template <int rows, int columns, bool exist>
struct TileMarks {
  unsigned char row_marks[rows];
  unsigned char column_marks[columns];
  float sure_sum;  ///< sums of this magnitude are good, whatever their row and column lose; 0 where no sum is bad
};
template <int rows, int columns>
struct TileMarks<rows, columns, false> {
  static constexpr float sure_sum = 0;
};

/// A tile without entries is none. Parts start at multiples of 16 bytes.
template <class F>
struct alignas(16) TileInfo
    : TileMarks<tile_rows(F::config), tile_columns(F::config), marks_rows(F::traits, F::config)> {
  static constexpr int rows = tile_rows(F::config);
  static constexpr int columns = tile_columns(F::config);
  SampleTile tile;
  int row_shifts[rows];
  /// Of scales; or of the sums of magnitudes over the part's n, as codes (sddmm/magnitude_code.h), where those are
  /// made.
  signed char row_exponents[rows];
  signed char column_exponents[columns];  ///< bytes, so that no two of them lie in one bank but in one word
  unsigned short places[F::config.list_room];
};

}  // namespace vostok
