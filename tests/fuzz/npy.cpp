// NumPy's files, as matrices and as arrays.
#include "fuzz/input.hpp"
#include "sparse/read.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  const InputFile file(bytes);
  sparse::Csr csr;
  if (takes([&] { csr = sparse::read_npy(file.path()); })) {
    sparse::validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "a matrix that was read");
    require(csr.values.empty() || csr.values.size() == csr.column_indices.size(), "a matrix has no value or one for each nonzero");
  }
  sparse::DenseArray array;
  if (!takes([&] { array = sparse::read_array(file.path()); })) return;
  std::int64_t elements = 1;
  for (const std::int64_t size : array.shape) elements *= size;
  require(elements == static_cast<std::int64_t>(array.values.size()), "an array has as many values as its shape says");
}
