// Warp-wide matrix multiply-accumulate (mma.sync, sm_80 and later): c += a * b, accumulated in f32.
//
// Fragments of lane = 4 * group + member (PTX ISA, "Matrix Fragments for mma.m16n8k16" and "mma.m16n8k8"):
//   c[0], c[1]: row group,     columns 2 * member, 2 * member + 1        c[2], c[3]: row group + 8
//   f16, bf16, k = 16, two elements a register, the lower k in the lower half:
//   a[0]: row group, k 2 * member; a[1]: row group + 8; a[2], a[3]: as a[0], a[1] with k + 8
//   b[0]: column group, k 2 * member; b[1]: k + 8
//   tf32, k = 8: a[0]: row group, k member; a[1]: row group + 8; a[2], a[3]: k + 4; b[0]: column group, k member; b[1]:
//   k + 4
#pragma once

#include "parts/half.h"

namespace vostok {

#if defined(VOSTOK_EMULATOR)

namespace detail {

// How a tensor core adds, after public studies (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor
// cores, 2021; Khattak, Mikaitis: Accurate Models of NVIDIA Tensor Cores, 2025), for sm_90: all products of the
// instruction are exact, they and c are aligned to the largest exponent and cut (not rounded) after 2 bits below f32's
// last, added exactly, and the sum is cut to f32. Older cores keep fewer bits and add 4 or 8 products at a time, so
// their results may differ in the last bits.
consteval int extra_bits() { return 2; }

struct Term {
  double value;
  int exponent;  ///< of the operands, not of the product: a product in [2, 4) is not normalised first
};

/// floor(log2(|value|)) of a value that is finite and not 0; of 0, anything.
inline int exponent_of(float value) {
  const unsigned magnitude = __builtin_bit_cast(unsigned, value) & 0x7fffffffU;
  if (magnitude >= 0x800000U) return static_cast<int>(magnitude >> 23) - 127;
  return 31 - __builtin_clz(magnitude | 1U) - 149;
}

/// 2^exponent, which is a normal number.
inline double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<unsigned long long>(exponent + 1023) << 52);
}

inline Term product(float a, float b) { return {static_cast<double>(a) * b, exponent_of(a) + exponent_of(b)}; }

/// The sum cut to f32's 24 bits; too large is infinite.
inline float cut_to_f32(long long sum, int unit_exponent) {
  if (sum == 0) return 0.0F;
  const bool negative = sum < 0;
  unsigned long long magnitude =
      negative ? 0 - static_cast<unsigned long long>(sum) : static_cast<unsigned long long>(sum);
  const int bits = 64 - __builtin_clzll(magnitude);
  // The unit of the result: 24 bits below the leading one, but not below the smallest subnormal.
  int drop = bits - 24;
  if (unit_exponent + drop < -149) drop = -149 - unit_exponent;
  if (drop > 63) magnitude = 0;
  else if (drop > 0) magnitude = magnitude >> drop << drop;
  const float value = static_cast<float>(__builtin_ldexp(static_cast<double>(magnitude), unit_exponent));
  return negative ? -value : value;
}

template <int count>
inline float accumulate(const float (&a)[count], const float (&b)[count], float c) {
  constexpr int least = -100000;
  Term terms[count + 1];
  double plain = c;  // only says whether the result is finite, and which infinity it is
  int largest = c != 0 ? exponent_of(c) : least;
  terms[count] = {c, largest};
  for (int i = 0; i < count; ++i) {
    terms[i] = product(a[i], b[i]);
    plain += terms[i].value;
    if (terms[i].value != 0 && terms[i].exponent > largest) largest = terms[i].exponent;
  }
  if (plain != plain) return __builtin_bit_cast(float, 0x7fffffffU);
  if (plain - plain != 0) return static_cast<float>(plain);
  if (largest == least) return static_cast<float>(plain);
  const int unit = largest - 23 - extra_bits();
  const double units = power_of_two(-unit);
  long long sum = 0;
  for (const Term& term : terms) sum += static_cast<long long>(term.value * units);
  return cut_to_f32(sum, unit);
}

/// Element k of two or one registers' worth of operands, as f32.
struct F16Operand {
  static constexpr int per_register = 2;
  static float element(unsigned word, int i) { return f16_to_f32(static_cast<unsigned short>(word >> 16 * i)); }
};
struct Bf16Operand {
  static constexpr int per_register = 2;
  static float element(unsigned word, int i) { return bf16_to_f32(static_cast<unsigned short>(word >> 16 * i)); }
};
struct Tf32Operand {
  static constexpr int per_register = 1;
  /// The lower 13 bits are not looked at.
  static float element(unsigned word, int) { return __builtin_bit_cast(float, word & 0xffffe000U); }
};

template <class Operand>
inline void emulated_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                         ::vostok_emulator::Place place) {
  constexpr int words = 3;
  constexpr int per_register = Operand::per_register;
  constexpr int depth = 8 * per_register;
  const auto pair = [](unsigned low, unsigned high) { return static_cast<unsigned long long>(high) << 32 | low; };
  const unsigned long long mine[words] = {pair(a[0], a[1]), pair(a[2], a[3]), pair(b[0], b[1])};
  unsigned long long lanes[32 * words];
  ::vostok_emulator::gather(mine, lanes, words, place);

  const int group = static_cast<int>(::vostok_emulator::current->lane / 4);
  const int member = static_cast<int>(::vostok_emulator::current->lane % 4);
  const auto word = [&](int lane, int index, int half) {
    return static_cast<unsigned>(lanes[lane * words + index] >> 32 * half);
  };
  float rows_of_a[2][depth];     // group, group + 8
  float columns_of_b[2][depth];  // 2 * member and the next
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < depth; ++k) {
      const int within = k % (4 * per_register);  // of this half of k
      const int half = k / (4 * per_register);
      rows_of_a[i][k] = Operand::element(word(4 * group + within / per_register, half, i), within % per_register);
      columns_of_b[i][k] =
          Operand::element(word(4 * (2 * member + i) + within / per_register, 2, half), within % per_register);
    }
  for (int i = 0; i < 4; ++i) c[i] = accumulate(rows_of_a[i / 2], columns_of_b[i % 2], c[i]);
}

}  // namespace detail

#define VOSTOK_MMA(name, operand, instruction)                                                                      \
  inline void name(float(&c)[4], const unsigned(&a)[4], const unsigned(&b)[2], const char* file = __builtin_FILE(), \
                   int line = __builtin_LINE()) {                                                                   \
    detail::emulated_mma<detail::operand>(c, a, b, {file, line});                                                   \
  }

#else

#define VOSTOK_MMA(name, operand, instruction)                                                                      \
  __device__ inline void name(float(&c)[4], const unsigned(&a)[4], const unsigned(&b)[2]) {                         \
    asm volatile("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                   \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                               \
  }

#endif

VOSTOK_MMA(mma_f16, F16Operand, "m16n8k16.row.col.f32.f16.f16.f32")
VOSTOK_MMA(mma_bf16, Bf16Operand, "m16n8k16.row.col.f32.bf16.bf16.f32")
VOSTOK_MMA(mma_tf32, Tf32Operand, "m16n8k8.row.col.f32.tf32.tf32.f32")

#undef VOSTOK_MMA

}  // namespace vostok
