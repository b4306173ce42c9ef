// A small SpMM with operands on a device and its float64 reference.
#pragma once

#include <cmath>
#include <vector>

#include "device/devices.hpp"
#include "sparse/reference.hpp"

namespace vostok::test {

class SpmmOperands {
 public:
  SpmmOperands(const Context& context, sparse::Csr matrix, std::int64_t n, std::uint64_t seed)
      : csr(std::move(matrix)),
        values(sparse::normal_values(csr.nonzeros(), seed)),
        dense(sparse::normal_values(csr.cols * n, seed + 1)),
        n_(n),
        device_values_(device_of(context), values),
        device_dense_(device_of(context), dense),
        device_output_(device_of(context), std::vector<float>(static_cast<std::size_t>(csr.rows * n), NAN)) {}

  SpmmArguments arguments() const {
    return {.values = device_values_.data(), .dense = device_dense_.data(), .output = device_output_.data()};
  }

  /// Normwise error of what the output holds for the first `n` columns of B read as [cols, n].
  double error(Stream after = nullptr, std::int64_t n = 0) const {
    n = n > 0 ? n : n_;
    std::vector<float> output = device_output_.read(after);
    output.resize(static_cast<std::size_t>(csr.rows * n));
    return sparse::relative_error(output, n, sparse::spmm(csr, values, dense, n, n), csr.rows, n);
  }
  double tolerance() const {
    return sparse::sum_tolerance(
        sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices).longest_row);
  }

  sparse::Csr csr;
  std::vector<float> values;
  std::vector<float> dense;

 private:
  std::int64_t n_;
  Floats device_values_;
  Floats device_dense_;
  Floats device_output_;
};

}  // namespace vostok::test
