// f32 as two terms of TF32: tensor cores leave out its last 13 bits, so that it is its own high term.
#pragma once

namespace vostok {

/// What tensor cores leave out of an f32, so that they round it where they cut its own last bits; bits of both. The sum
/// of both terms is off by 2^-23 of the element at most. Of what is not finite it is next to zero.
__device__ inline unsigned low_tf32_term(unsigned bits) {
  constexpr unsigned half_of_the_last_bit = 0x1000U;
  const unsigned kept = bits & 0xffffe000U;
  const float low = __builtin_bit_cast(float, bits) - __builtin_bit_cast(float, kept);
  return __builtin_bit_cast(unsigned, low) + half_of_the_last_bit;
}

}  // namespace vostok
