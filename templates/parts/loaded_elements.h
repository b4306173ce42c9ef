// Elements out of the words that they were loaded in.
#pragma once

#include "parts/element.h"

namespace vostok {

/// Element `j`, as f32, of neighbours that one load brought. The two bf16 of a word take an instruction each: a shift
/// and a mask.
template <Dtype dtype, class Bits>
__device__ inline float loaded_element(const Bits& bits, int j) {
  using Stored = typename Element<dtype>::Storage;
  if constexpr (dtype == Dtype::bf16 && sizeof(Bits) >= 4) {
    const unsigned word = __builtin_bit_cast(Vector<unsigned, sizeof(Bits) / 4>, bits).at[j / 2];
    return __builtin_bit_cast(float, j % 2 == 0 ? word << 16 : word & 0xffff0000U);
  } else {
    return Element<dtype>::to_float(__builtin_bit_cast(Vector<Stored, sizeof(Bits) / sizeof(Stored)>, bits).at[j]);
  }
}

}  // namespace vostok
