// Matrices in the DLMC format: what is read is valid, and written and read again it is the same.
#include "base/temporary_folder.hpp"
#include "fuzz/input.hpp"
#include "sparse/read.hpp"
#include "sparse/write.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  const InputFile file(bytes);
  sparse::Csr csr;
  if (!takes([&] { csr = sparse::read_smtx(file.path()); })) return;
  sparse::validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "a matrix that was read");
  const InputFile written("");
  sparse::write_smtx(written.path(), csr);
  const sparse::Csr again = sparse::read_smtx(written.path());
  require(again.rows == csr.rows && again.cols == csr.cols && again.row_offsets == csr.row_offsets && again.column_indices == csr.column_indices,
          "a written matrix is read again as it was");
}
