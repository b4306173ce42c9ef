// The memory layout of a dense operand.
#pragma once

#include <cstdint>

#include <vostok/enums.hpp>

#include "base/checked.hpp"

namespace vostok::ops {

/// A batch of matrices, each of lines (rows, or columns if it is column-major) of `length` elements.
struct StoredMatrix {
  std::int64_t lines = 0;
  std::int64_t length = 0;
  std::int64_t leading = 0;  ///< elements between two lines
  std::int64_t stride = 0;   ///< elements between two matrices

  /// From a matrix's first element to past its last; the last line has no padding.
  std::int64_t extent() const { return lines == 0 ? 0 : (lines - 1) * leading + length; }
};

/// [rows, columns] with a leading dimension and a stride, where 0 means packed. Errors: invalid_argument if a matrix
/// has more elements than 64 bits can count.
inline StoredMatrix stored_matrix(Layout layout, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                                  std::int64_t stride) {
  StoredMatrix matrix;
  matrix.lines = layout == Layout::row_major ? rows : columns;
  matrix.length = layout == Layout::row_major ? columns : rows;
  matrix.leading = leading != 0 ? leading : matrix.length;
  const std::int64_t packed = checked_multiply(matrix.lines, matrix.leading, "a dense operand's elements");
  matrix.stride = stride != 0 ? stride : packed;
  return matrix;
}

/// The smallest legal stride of a batch. Matrices lie one after another or, if a line of each fits between two lines of
/// one, side by side ([tokens, heads, size]).
inline std::int64_t least_stride(const StoredMatrix& matrix, std::int64_t batch) {
  const bool side_by_side =
      matrix.stride >= matrix.length && (batch <= 1 || matrix.stride <= (matrix.leading - matrix.length) / (batch - 1));
  return side_by_side ? matrix.length : matrix.extent();
}

}  // namespace vostok::ops
