#include <doctest/doctest.h>

#include "sparse/generate.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;

TEST_CASE("the transpose lists the entries of each column in the order of the rows, with where they came from") {
  const sparse::Csr csr{
      .rows = 3, .cols = 4, .row_offsets = {0, 3, 3, 5}, .column_indices = {2, 0, 2, 2, 1}, .values = {1, 2, 3, 4, 5}};
  const sparse::Transposed transposed = sparse::transpose(csr);
  CHECK(transposed.csr.rows == 4);
  CHECK(transposed.csr.cols == 3);
  CHECK(transposed.csr.row_offsets == std::vector<std::int64_t>{0, 1, 2, 5, 5});
  CHECK(transposed.csr.column_indices == std::vector<std::int32_t>{0, 2, 0, 0, 2});
  CHECK(transposed.value_positions == std::vector<std::int32_t>{1, 4, 0, 2, 3});
  CHECK(transposed.csr.values == std::vector<double>{2, 5, 1, 3, 4});
}

TEST_CASE("the transpose of the transpose is the structure with sorted columns") {
  const sparse::Csr csr = sparse::uniform(37, 21, 0.6, 4);
  const sparse::Csr back = sparse::transpose(sparse::transpose(csr).csr).csr;
  CHECK(back.row_offsets == csr.row_offsets);
  CHECK(back.column_indices == csr.column_indices);
}
