// Warp-wide multiply-accumulate of a 2:4 sparse A (mma.sp.m16n8k32, sm_80 and later): c += a * b, accumulated in f32.
//
// Of every four neighbouring k of a row, A holds two values and says which k they are of. Fragments of lane = 4 * group
// + member (PTX ISA, "Matrix fragments for sparse mma.m16n8k32"), two 16-bit elements a register, the lower k in the
// lower half:
//   a[0]: row group, the two values of k 4 * member to 4 * member + 3; a[1]: row group + 8; a[2], a[3]: as a[0], a[1]
//   with k + 16 b[i]: column group, k 8 * i + 2 * member and the next c[0], c[1]: row group, columns 2 * member and the
//   next; c[2], c[3]: row group + 8
// Metadata, of lanes whose member is 0 or 1 (of the others nothing is read): four bits for each four k, the place of
// the lower value among them in the lower two, that of the higher one in the upper two. The low half of the word is of
// row group, the high half of row group + 8; member 0 has k 0 to 15, member 1 k 16 to 31.
#pragma once

#include "parts/mma.h"

namespace vostok {

#if defined(VOSTOK_EMULATOR)

namespace detail {

/// The k, of a row's 32, that compressed value `index` of 16 stands for.
inline int sparse_k(unsigned first_word, unsigned second_word, int upper, int index) {
  const unsigned word = (index < 8 ? first_word : second_word) >> 16 * upper;
  const unsigned places = word >> 4 * (index % 8 / 2);
  const unsigned lower = places & 3U;
  const unsigned higher = places >> 2 & 3U;
  if (lower >= higher)
    ::vostok_emulator::fail("metadata of a sparse multiplication does not name two places in ascending order");
  return index / 2 * 4 + static_cast<int>(index % 2 == 0 ? lower : higher);
}

template <class Operand>
inline void emulated_sparse_mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[4], unsigned metadata,
                                ::vostok_emulator::Place place) {
  constexpr int words = 5;
  constexpr int values = 16;
  const auto pair = [](unsigned low, unsigned high) { return static_cast<unsigned long long>(high) << 32 | low; };
  const unsigned long long mine[words] = {pair(a[0], a[1]), pair(a[2], a[3]), pair(b[0], b[1]), pair(b[2], b[3]),
                                          metadata};
  unsigned long long lanes[32 * words];
  ::vostok_emulator::gather(mine, lanes, words, place);

  const int group = static_cast<int>(::vostok_emulator::current->lane / 4);
  const int member = static_cast<int>(::vostok_emulator::current->lane % 4);
  const auto word = [&](int lane, int index, int half) {
    return static_cast<unsigned>(lanes[lane * words + index] >> 32 * half);
  };
  float columns_of_b[2][2 * values];  // 2 * member and the next
  for (int j = 0; j < 2; ++j)
    for (int k = 0; k < 2 * values; ++k)
      columns_of_b[j][k] = Operand::element(word(4 * (2 * member + j) + k % 8 / 2, 2 + k / 16, k / 8 % 2), k % 2);
  for (int upper = 0; upper < 2; ++upper) {
    float of_a[values];
    float of_b[2][values];
    for (int v = 0; v < values; ++v) {
      of_a[v] = Operand::element(word(4 * group + v % 8 / 2, v / 8, upper), v % 2);
      const int k = sparse_k(word(4 * group, 4, 0), word(4 * group + 1, 4, 0), upper, v);
      for (int j = 0; j < 2; ++j) of_b[j][v] = columns_of_b[j][k];
    }
    for (int j = 0; j < 2; ++j) c[2 * upper + j] = accumulate(of_a, of_b[j], c[2 * upper + j]);
  }
}

}  // namespace detail

#define VOSTOK_SPARSE_MMA(name, operand, types)                                                   \
  inline void name(float(&c)[4], const unsigned(&a)[4], const unsigned(&b)[4], unsigned metadata, \
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {            \
    detail::emulated_sparse_mma<detail::operand>(c, a, b, metadata, {file, line});                \
  }

#else

#define VOSTOK_SPARSE_MMA(name, operand, types)                                                                \
  __device__ inline void name(float(&c)[4], const unsigned(&a)[4], const unsigned(&b)[4], unsigned metadata) { \
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32." types                           \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%0, %1, %2, %3}, %12, 0x0;"    \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),     \
                   "r"(metadata));                                                                             \
  }

#endif

VOSTOK_SPARSE_MMA(sparse_mma_f16, F16Operand, "f16.f16")
VOSTOK_SPARSE_MMA(sparse_mma_bf16, Bf16Operand, "bf16.bf16")

#undef VOSTOK_SPARSE_MMA

}  // namespace vostok
