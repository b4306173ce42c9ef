// Entries in any order, as files list them, and the CSR that they make.
#pragma once

#include "sparse/csr.hpp"
#include "sparse/source.hpp"

namespace vostok::sparse {

struct Entries {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int32_t> row = {};
  std::vector<std::int32_t> col = {};
  bool valued = true;              ///< false: a pattern
  std::vector<double> value = {};  ///< empty for a pattern

  void add(std::int64_t at_row, std::int64_t at_col, double at_value) {
    row.push_back(static_cast<std::int32_t>(at_row));
    col.push_back(static_cast<std::int32_t>(at_col));
    if (valued) value.push_back(at_value);
  }
};

/// Room for so many entries. Errors: out_of_memory where they and the CSR made of them do not fit.
void reserve(Entries& entries, std::int64_t count, const Source& source);

/// Rows sorted by column, repeated places in the entries' order. Every row and column lies in the matrix.
Csr compress(const Entries& entries);

}  // namespace vostok::sparse
