// Products of attention by mma.sync, of operands that lie in padded lines in shared memory: a warp's strips of 16 lines
// with other lines, and weights with them.
#pragma once

#include "abi/fused_attention.h"
#include "parts/ldmatrix.h"
#include "parts/mma.h"

namespace vostok {

template <Dtype element>
__device__ inline void multiply_fragment(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (element == Dtype::f16) mma_f16(sums, a, b);
  else mma_bf16(sums, a, b);
}

/// Where a lane's line of four 8 x 8 matrices begins, from `line` on: 8 lines further where `below`, 8 elements where
/// `right`.
__device__ inline unsigned fragment_line(unsigned line, unsigned below, unsigned right, unsigned bytes) {
  return (line + threadIdx.x % 8 + 8 * below) * bytes + 16 * right;
}

/// As an operand a: 16 lines from `line` on.
__device__ inline unsigned own_fragment(unsigned line, unsigned bytes) {
  return fragment_line(line, threadIdx.x / 8 % 2, threadIdx.x / 16 % 2, bytes);
}
/// As an operand b of which lines are columns, two octets of them.
__device__ inline unsigned column_fragment(unsigned line, unsigned bytes) {
  return fragment_line(line, threadIdx.x / 16 % 2, threadIdx.x / 8 % 2, bytes);
}
/// As an operand b of which lines are rows: 16 of them.
__device__ inline unsigned row_fragment(unsigned line, unsigned bytes) { return own_fragment(line, bytes); }

template <bool transposed>
__device__ inline void load_fragments(unsigned (&fragments)[2][2], SharedAddress from) {
  unsigned words[4];
  load_matrices<transposed>(words, from);
#pragma unroll
  for (int i = 0; i < 4; ++i) fragments[i / 2][i % 2] = words[i];
}

/// The fragments of 16 elements of each strip's lines, with other signs where `sign` has them.
template <int strips>
__device__ inline void load_strips(unsigned (&fragments)[strips][4], SharedAddress own, int line_bytes, int k,
                                   unsigned sign) {
#pragma unroll
  for (int q = 0; q < strips; ++q) {
    load_matrices<false>(fragments[q], own + (q * strip_queries() * line_bytes + 32 * k));
#pragma unroll
    for (unsigned& word : fragments[q]) word ^= sign;
  }
}

/// Adds the products of strips with other lines [size], an octet of those a fragment. load(fragments, k) has the
/// strips' elements; `lines` is the lane's column_fragment.
template <Dtype element, int size, int strips, int octets, class Load>
__device__ inline void multiply_lines(float (&sums)[strips][octets][4], SharedAddress lines, int line_bytes,
                                      Load load) {
#pragma unroll
  for (int k = 0; k < size / 16; ++k) {
    unsigned own[strips][4];
    load(own, k);
#pragma unroll
    for (int o = 0; o < octets; o += 2) {
      unsigned fragments[2][2];
      load_fragments<false>(fragments, lines + (8 * o * line_bytes + 32 * k));
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int q = 0; q < strips; ++q) multiply_fragment<element>(sums[q][o + i], own[q], fragments[i]);
    }
  }
}

/// Adds the products of weights, 16 lines a fragment, with lines [8 * octets]. `lines` is the lane's row_fragment.
template <Dtype element, int strips, int steps, int octets>
__device__ inline void multiply_weights(float (&sums)[strips][octets][4], const unsigned (&weights)[strips][steps][4],
                                        SharedAddress lines, int line_bytes) {
#pragma unroll
  for (int j = 0; j < steps; ++j)
#pragma unroll
    for (int o = 0; o < octets; o += 2) {
      unsigned fragments[2][2];
      load_fragments<true>(fragments, lines + (16 * j * line_bytes + 16 * o));
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int q = 0; q < strips; ++q) multiply_fragment<element>(sums[q][o + i], weights[q][j], fragments[i]);
    }
}

}  // namespace vostok
