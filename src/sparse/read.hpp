// Files to CSR. Errors: io_failure (cannot open), invalid_topology (malformed; names file, line or row, and value),
// unsupported (a legal file of a kind that is not read; names the kind).
#pragma once

#include <filesystem>

#include "sparse/csr.hpp"

namespace vostok::sparse {

Csr read_smtx(const std::filesystem::path& path);  ///< DLMC: "rows, cols, nonzeros", offsets, indices. A pattern
Csr read_mtx(const std::filesystem::path& path);  ///< Matrix Market coordinate: real, integer, pattern; general, symmetric, skew-symmetric (expanded)
Csr read_npy(const std::filesystem::path& path);  ///< a dense 2-D f2/f4/f8 array; exact zeros are dropped (4-D [O,I,1,1] counts as 2-D)
Csr read(const std::filesystem::path& path);      ///< by extension; any other is invalid_argument naming the known ones

/// A dense array of any number of dimensions, row-major.
struct DenseArray {
  std::vector<std::int64_t> shape = {};
  std::vector<double> values = {};
};
DenseArray read_array(const std::filesystem::path& path);  ///< .npy of f2/f4/f8

}  // namespace vostok::sparse
