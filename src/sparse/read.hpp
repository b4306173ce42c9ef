// Files to CSR. Errors: io_failure (cannot be opened or read), invalid_topology (malformed; names file, line or row,
// and value), unsupported (a legal file of a kind that is not read; names the kind), out_of_memory (what the file holds
// or claims does not fit in the memory that is free; names the file). Nothing depends on the locale, and nothing
// unprintable of a file gets into a message.
#pragma once

#include <filesystem>

#include "sparse/csr.hpp"
#include "sparse/source.hpp"

namespace vostok::sparse {

/// By the extension, behind which .gz may stand; a pipe without one of these by its first bytes. Any other is
/// invalid_argument naming those known.
Csr read(const std::filesystem::path& path);
/// The same of bytes in memory, by the extension of their name.
Csr parse(const Source& source);
/// Whether `read` knows the extension.
bool has_known_extension(const std::filesystem::path& path);
constexpr const char* known_extensions = ".smtx, .mtx, .npy (each also as .gz) or .npz";

Csr parse_smtx(const Source& source);  ///< DLMC: "rows, cols, nonzeros", offsets, indices. A pattern

/// Matrix Market: coordinate, and array, whose zeros are dropped; real, double, integer, unsigned-integer and pattern;
/// general, and symmetric and skew-symmetric, which are expanded.
Csr parse_mtx(const Source& source);

/// A dense 2-D array (4-D [O,I,1,1] counts as one) of bool, which is a pattern, integers, f2, f4, f8 or bfloat16 in any
/// byte order; zeros are dropped.
Csr parse_npy(const Source& source);

/// What SciPy's save_npz makes of a CSR, CSC or COO matrix. Needs zlib.
Csr parse_npz(const Source& source);

/// A dense array of any number of dimensions, row-major.
struct DenseArray {
  std::vector<std::int64_t> shape = {};
  std::vector<double> values = {};
};
DenseArray read_array(const std::filesystem::path& path);  ///< .npy, of the types of parse_npy
DenseArray parse_array(const Source& source);

}  // namespace vostok::sparse
