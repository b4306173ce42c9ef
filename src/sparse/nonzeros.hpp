// A walk through the nonzeros of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// visit(row, column, number in CSR order) for every nonzero, in that order.
template <class Visit>
void for_each_nonzero(const Csr& csr, const Visit& visit) {
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (std::int64_t i = csr.row_offsets[static_cast<std::size_t>(row)];
         i < csr.row_offsets[static_cast<std::size_t>(row) + 1]; ++i)
      visit(row, csr.column_indices[static_cast<std::size_t>(i)], i);
}

}  // namespace vostok::sparse
