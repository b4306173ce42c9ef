#include "bench/peers/column_major.hpp"

#include <cstring>

namespace vostok::bench {

namespace {

/// Of a [rows, columns] matrix of elements of so many bytes, rows and columns exchanged.
std::vector<std::byte> turned(const std::vector<std::byte>& matrix, std::int64_t rows, std::int64_t columns,
                              std::int64_t element_bytes) {
  std::vector<std::byte> result(matrix.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      std::memcpy(result.data() + (column * rows + row) * element_bytes,
                  matrix.data() + (row * columns + column) * element_bytes, static_cast<std::size_t>(element_bytes));
  return result;
}

}  // namespace

ColumnMajor::ColumnMajor(device::Device& device, const SpmmOperands& operands)
    : device_(device),
      operands_(operands),
      rows_(operands.transposed ? operands.matrix.host->cols : operands.matrix.host->rows) {
  const std::int64_t inner = operands.transposed ? operands.matrix.host->rows : operands.matrix.host->cols;
  const std::int64_t element_bytes = size_of(operands.element);
  std::vector<std::byte> dense(static_cast<std::size_t>(inner * operands.n * element_bytes));
  device.copy_to_host(dense.data(), operands.dense, std::ssize(dense));
  dense = turned(dense, inner, operands.n, element_bytes);
  dense_ = device::Buffer(device, std::ssize(dense));
  device.copy_to_device(dense_.data(), dense.data(), dense_.bytes());
  output_ = device::Buffer(device, rows_ * operands.n * element_bytes);
}

void ColumnMajor::deliver(Stream stream) const {
  std::vector<std::byte> output(static_cast<std::size_t>(output_.bytes()));
  device_.copy_to_host(output.data(), output_.data(), output_.bytes(), stream);
  output = turned(output, operands_.n, rows_, size_of(operands_.element));
  device_.copy_to_device(operands_.output, output.data(), output_.bytes());
}

}  // namespace vostok::bench
