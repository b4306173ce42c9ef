// cuBLAS's handle, and its dense product of row-major matrices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/peers/cublas_api.hpp"
#include "device/device.hpp"

namespace vostok::bench::cublas {

/// A row-major operand, which cuBLAS reads as its transpose.
struct Operand {
  const void* data = nullptr;
  std::int64_t row_length = 0;  ///< elements between two rows
  Operation operation = Operation::none;
};

/// C[rows, columns] = left right, or C += left right, packed and row-major.
struct Product {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t inner = 0;
  Operand left = {};
  Operand right = {};
  void* output = nullptr;
  DataType input_type = DataType::f32;
  DataType output_type = DataType::f32;
  ComputeType compute = ComputeType::f32;
  bool accumulate = false;
};

class Calls {
 public:
  /// Errors: device_failure, out_of_memory.
  Calls(device::Device& device, const Api& api);
  ~Calls();
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  std::string version() const;
  /// As the column-major C^T = right^T left^T: the right operand comes first. Errors: device_failure.
  void multiply(Stream stream, const Product& product) const;
  /// The same with the right operand, which must not be turned, and the output column-major: C = left right. Errors:
  /// device_failure.
  void multiply_columns(Stream stream, const Product& product) const;

 private:
  template <class... Parameters, class... Arguments>
  void require(const PeerFunction<Status, Parameters...>& function, Arguments... arguments) const;
  void prepare(Stream stream) const;

  Api api_;
  device::Buffer workspace_;
  Handle handle_ = nullptr;
};

}  // namespace vostok::bench::cublas
