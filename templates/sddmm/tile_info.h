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
  signed char row_exponents[rows];        ///< of scales
  signed char column_exponents[columns];  ///< bytes, so that no two of them lie in one bank but in one word
  unsigned short places[F::config.list_room];

  /// Codes of the sums of magnitudes over the part's n (sddmm/magnitude_code.h). Where those are made, there are no
  /// scales, and they lie in their place.
  __device__ unsigned row_code(unsigned row) const { return static_cast<unsigned char>(row_exponents[row]); }
  __device__ unsigned column_code(unsigned column) const {
    return static_cast<unsigned char>(column_exponents[column]);
  }
  __device__ void set_row_code(unsigned row, unsigned code) { row_exponents[row] = static_cast<signed char>(code); }
  __device__ void set_column_code(unsigned column, unsigned code) {
    column_exponents[column] = static_cast<signed char>(code);
  }
};

}  // namespace vostok
