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

// Of a strip's lines, other lines and weights of two f16 terms: three products, without that of both small ones. Each
// fragment is read once. `second_part`: bytes from the first terms of a line to the second ones.

/// Products with small terms are added up apart, as tensor cores round towards zero at every addition.
template <int size, int octets>
__device__ inline void multiply_split_lines(float (&sums)[octets][4], SharedAddress own, SharedAddress lines,
                                            int line_bytes, int second_part) {
  float small[octets][4] = {};
#pragma unroll
  for (int k = 0; k < size / 16; ++k) {
    unsigned high[4], low[4];
    load_matrices<false>(high, own + 32 * k);
    load_matrices<false>(low, own + (second_part + 32 * k));
#pragma unroll
    for (int o = 0; o < octets; o += 2) {
      const SharedAddress at = lines + (8 * o * line_bytes + 32 * k);
      unsigned other_high[2][2], other_low[2][2];
      load_fragments<false>(other_high, at);
      load_fragments<false>(other_low, at + second_part);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        mma_f16(small[o + i], low, other_high[i]);
        mma_f16(sums[o + i], high, other_high[i]);
        mma_f16(small[o + i], high, other_low[i]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4 * octets; ++i) sums[i / 4][i % 4] += small[i / 4][i % 4];
}

/// A step's sums are added by CUDA cores, some octets at a time: registers are few.
template <int strips, int steps, int octets>
__device__ inline void multiply_split_weights(float (&sums)[strips][octets][4],
                                              const unsigned (&weights)[strips][2][steps][4], SharedAddress lines,
                                              int line_bytes, int second_part) {
  constexpr int some = octets % 4 == 0 ? 4 : 2;
#pragma unroll
  for (int first = 0; first < octets; first += some) {
    float of_step[strips][some][4] = {};
#pragma unroll
    for (int j = 0; j < steps; ++j)
#pragma unroll
      for (int o = 0; o < some; o += 2) {
        const SharedAddress at = lines + (16 * j * line_bytes + 16 * (first + o));
        unsigned high[2][2], low[2][2];
        load_fragments<true>(high, at);
        load_fragments<true>(low, at + second_part);
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int q = 0; q < strips; ++q) mma_f16(of_step[q][o + i], weights[q][1][j], high[i]);
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int q = 0; q < strips; ++q) mma_f16(of_step[q][o + i], weights[q][0][j], low[i]);
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int q = 0; q < strips; ++q) mma_f16(of_step[q][o + i], weights[q][0][j], high[i]);
      }
#pragma unroll
    for (int q = 0; q < strips; ++q)
#pragma unroll
      for (int i = 0; i < 4 * some; ++i) sums[q][first + i / 4][i % 4] += of_step[q][i / 4][i % 4];
  }
}

/// Adds the products of weights, 16 lines a fragment, with lines [8 * octets]. `lines` is the lane's row_fragment;
/// `second_part`: of two terms.
template <Dtype element, int strips, int terms, int steps, int octets>
__device__ inline void multiply_weights(float (&sums)[strips][octets][4],
                                        const unsigned (&weights)[strips][terms][steps][4], SharedAddress lines,
                                        int line_bytes, int second_part) {
  if constexpr (terms == 2) {
    multiply_split_weights(sums, weights, lines, line_bytes, second_part);
  } else {
#pragma unroll
    for (int j = 0; j < steps; ++j)
#pragma unroll
      for (int o = 0; o < octets; o += 2) {
        unsigned fragments[2][2];
        load_fragments<true>(fragments, lines + (16 * j * line_bytes + 16 * o));
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
          for (int q = 0; q < strips; ++q) multiply_fragment<element>(sums[q][o + i], weights[q][0][j], fragments[i]);
      }
  }
}

}  // namespace vostok
