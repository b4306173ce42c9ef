// Matrix Market files: what is read is valid, with a value for each nonzero or none at all.
#include "fuzz/input.hpp"
#include "sparse/read.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  const InputFile file(bytes);
  sparse::Csr csr;
  if (!takes([&] { csr = sparse::read_mtx(file.path()); })) return;
  sparse::validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "a matrix that was read");
  require(csr.values.empty() || csr.values.size() == csr.column_indices.size(), "a matrix has no value or one for each nonzero");
}
