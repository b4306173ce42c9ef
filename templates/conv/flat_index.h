// Arithmetic on work that is numbered through, for kernels whose blocks lie in one row.
#pragma once

namespace vostok {

/// A number split into quotient and remainder.
template <class Index>
struct Split {
  Index quotient;
  Index remainder;

  __device__ Split(Index value, Index divisor) : quotient(value / divisor), remainder(value - quotient * divisor) {}
};

constexpr bool is_vector_width(int vector, int element_bytes, int widest) {
  return vector > 0 && (vector & (vector - 1)) == 0 && vector * element_bytes <= 16 && vector <= widest;
}

}  // namespace vostok
