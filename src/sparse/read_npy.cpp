#include <limits>

#include "sparse/npy.hpp"
#include "sparse/read.hpp"

namespace vostok::sparse {
namespace {

/// Whether a matrix is meant: two dimensions, or the [O,I,1,1] of a 1x1 convolution.
bool is_matrix(const std::vector<std::int64_t>& shape) {
  return shape.size() == 2 || (shape.size() == 4 && shape[2] == 1 && shape[3] == 1);
}

void require_matrix_shape(const Source& source, const std::vector<std::int64_t>& shape) {
  if (!is_matrix(shape))
    refuse(source, ErrorCode::unsupported,
           fmt::format("its {} dimensions{} are neither a matrix nor the [O,I,1,1] of a 1x1 convolution", shape.size(),
                       shape.size() == 4 ? fmt::format(" [{},{},{},{}]", shape[0], shape[1], shape[2], shape[3]) : ""));
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (shape[0] > most || shape[1] > most)
    refuse(source, ErrorCode::invalid_topology,
           fmt::format("the sizes {} x {} do not fit in 32 bits", shape[0], shape[1]));
}

/// Room for what the array holds: its header alone can claim any number of rows of no columns.
void reserve_dense(const Source& source, const NpyArray& array, Csr& csr) {
  require_rows(source, csr.rows);
  std::int64_t nonzeros = 0;
  for (std::int64_t i = 0; i < array.count(); ++i) nonzeros += array.at(i) != 0 ? 1 : 0;
  const std::int64_t bytes_each = array.is_flag() ? 4 : 12;
  require_memory(source, 8 * (csr.rows + 1) + nonzeros * bytes_each,
                 fmt::format("{} rows with {} nonzeros", csr.rows, nonzeros));
  csr.row_offsets.reserve(static_cast<std::size_t>(csr.rows) + 1);
  csr.column_indices.reserve(static_cast<std::size_t>(nonzeros));
  if (!array.is_flag()) csr.values.reserve(static_cast<std::size_t>(nonzeros));
}

Csr from_npy(const Source& source) {
  const NpyArray array(source);
  require_matrix_shape(source, array.shape());
  Csr csr{.rows = array.shape()[0], .cols = array.shape()[1]};
  reserve_dense(source, array, csr);
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    for (std::int64_t column = 0; column < csr.cols; ++column) {
      const double value = array.at(row * csr.cols + column);
      if (value == 0) continue;
      csr.column_indices.push_back(static_cast<std::int32_t>(column));
      if (!array.is_flag()) csr.values.push_back(value);
    }
    csr.row_offsets.push_back(csr.nonzeros());
  }
  csr.note = fmt::format("dense {}{}, {} zeros dropped", array.type_words(), array.is_flag() ? ", a pattern" : "",
                         csr.rows * csr.cols - csr.nonzeros());
  return csr;
}

DenseArray all_of(const Source& source) {
  const NpyArray array(source);
  require_memory(source, 8 * array.count(), fmt::format("{} elements", array.count()));
  DenseArray all{.shape = array.shape()};
  all.values.reserve(static_cast<std::size_t>(array.count()));
  for (std::int64_t i = 0; i < array.count(); ++i) all.values.push_back(array.at(i));
  return all;
}

}  // namespace

Csr parse_npy(const Source& source) {
  return read_named(source, [&] { return from_npy(source); });
}

DenseArray parse_array(const Source& source) {
  return read_named(source, [&] { return all_of(source); });
}

}  // namespace vostok::sparse
