// The dense operands of an SpMM of few columns as a peer likes them best: column-major, in memory of their own.
#pragma once

#include <cstdint>

#include "bench/peers/peer.hpp"

namespace vostok::bench {

/// Up to so many columns cuBLAS reads rows of a few elements, where columns of thousands would do.
inline constexpr std::int64_t few_columns = 16;

class ColumnMajor {
 public:
  /// Copies B, turned. Errors: out_of_memory.
  ColumnMajor(device::Device& device, const SpmmOperands& operands);

  const void* dense() const { return dense_.data(); }
  void* output() const { return output_.data(); }
  /// Turns the output and copies it to that of the operands, when what is queued on `stream` is done.
  void deliver(Stream stream) const;

 private:
  device::Device& device_;
  SpmmOperands operands_;
  std::int64_t rows_;  ///< of the output
  device::Buffer dense_;
  device::Buffer output_;
};

}  // namespace vostok::bench
