// The sparse matrix with its zeros, in device memory, as cuBLAS multiplies it.
#pragma once

#include <memory>
#include <vector>

#include "bench/peers/peer.hpp"

namespace vostok::bench::cublas {

/// Copies are made when they are first asked for; as many as the operands' rotation needs.
class Weights {
 public:
  using Copies = std::vector<std::shared_ptr<const device::Buffer>>;

  /// Where entries of one place were added up.
  struct Nonzero {
    std::int64_t row = 0;
    std::int64_t column = 0;
    float value = 0;
  };
  /// By row, then column. `values` in CSR order.
  static std::vector<Nonzero> added_up(const sparse::Csr& matrix, const std::vector<float>& values);

  Weights(device::Device& device, const SpmmOperands& operands) : device_(device), operands_(operands) {}

  /// Row-major [rows, cols] of the operands' type. Errors: unsupported (too large), out_of_memory.
  const Copies& dense();
  /// Row-major [rows, 3 cols] in f16: hi, hi again, and lo, where hi is the f16 next to a value and lo what it lacks.
  /// Errors: as above.
  const Copies& three_terms();

 private:
  const std::vector<Nonzero>& nonzeros();
  /// [rows, width * cols] with the nonzeros in those of its `width` parts that `places` names, and zeros elsewhere.
  std::vector<std::byte> scatter(Dtype type, const std::vector<Nonzero>& nonzeros, std::int64_t width,
                                 const std::vector<std::int64_t>& places) const;
  Copies upload(const std::vector<std::byte>& bytes) const;

  device::Device& device_;
  SpmmOperands operands_;
  std::vector<Nonzero> nonzeros_;
  Copies dense_;
  Copies three_terms_;
};

}  // namespace vostok::bench::cublas
