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

}  // namespace vostok
