// Fragments of mma.sync from shared memory (ldmatrix, sm_75 and later): 8 x 8 matrices of 16-bit elements.
//
// Lane 8 i + r gives the address of row r of matrix i: 16 bytes, aligned to as many. Word i of lane l then holds two
// elements of matrix i, the first in the lower half: (l / 4, 2 (l % 4)) and the next of its row; transposed, (2 (l %
// 4), l / 4) and the next of its column (PTX ISA, "ldmatrix").
#pragma once

#include "parts/shared_address.h"

namespace vostok {

#if defined(VOSTOK_EMULATOR)

namespace detail {

template <bool transposed>
inline unsigned emulated_matrix_word(const unsigned char* const (&rows)[8], unsigned lane) {
  const auto element = [&](unsigned row, unsigned column) -> unsigned {
    return reinterpret_cast<const unsigned short*>(rows[row])[column];
  };
  const unsigned major = lane / 4;
  const unsigned minor = lane % 4 * 2;
  if constexpr (transposed) return element(minor, major) | element(minor + 1, major) << 16;
  else return element(major, minor) | element(major, minor + 1) << 16;
}

}  // namespace detail

/// `count` matrices, 2 or 4; with 2, the addresses of lanes 16 and up are not looked at.
template <bool transposed, int count>
inline void load_matrices(unsigned (&words)[count], SharedAddress row, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE()) {
  static_assert(count == 2 || count == 4, "load_matrices: two or four matrices");
  const auto mine = reinterpret_cast<unsigned long long>(row.at);
  unsigned long long lanes[32];
  ::vostok_emulator::gather(&mine, lanes, 1, {file, line});
  for (int i = 0; i < count; ++i) {
    const unsigned char* rows[8];
    for (int r = 0; r < 8; ++r) {
      if (lanes[8 * i + r] % 16 != 0) ::vostok_emulator::fail("a row of load_matrices is not aligned to 16 bytes");
      rows[r] = reinterpret_cast<const unsigned char*>(lanes[8 * i + r]);
    }
    words[i] = detail::emulated_matrix_word<transposed>(rows, ::vostok_emulator::current->lane);
  }
}

#else

/// `count` matrices, 2 or 4; with 2, the addresses of lanes 16 and up are not looked at.
template <bool transposed, int count>
__device__ inline void load_matrices(unsigned (&words)[count], SharedAddress row) {
  static_assert(count == 2 || count == 4, "load_matrices: two or four matrices");
  if constexpr (count == 4 && transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row.at));
  else if constexpr (count == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(row.at));
  else if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(row.at));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(words[0]), "=r"(words[1])
                 : "r"(row.at));
}

#endif

}  // namespace vostok
