// Matrices in the DLMC format: what is read, written and read again is the same.
#include "fuzz/matrix.hpp"
#include "sparse/text_file.hpp"
#include "sparse/write.hpp"

void vostok::fuzz::read_input(std::string_view bytes) {
  sparse::Csr csr;
  if (!takes([&] { csr = sparse::parse_smtx(source_of(bytes, "input.smtx")); })) return;
  require_sound(csr);
  const InputFile written("");
  sparse::write_smtx(written.path(), csr);
  const sparse::Csr again = sparse::parse_smtx(source_of(sparse::read_bytes(written.path()), "again.smtx"));
  require(again.rows == csr.rows && again.cols == csr.cols, "a written matrix is read again with its size");
  require(again.row_offsets == csr.row_offsets && again.column_indices == csr.column_indices,
          "a written matrix is read again as it was");
}
