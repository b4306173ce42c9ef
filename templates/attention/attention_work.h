// What a block of attention computes, the bits of its tiles, and what scores and sums go through between products.
#pragma once

#include "abi/fused_attention.h"
#include "attention/column_part.h"
#include "attention/online_softmax.h"
#include "attention/seen_lines.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

/// A slice of the tiles of one block of queries and head. Blocks with the most tiles come first.
template <class F>
struct AttentionWork {
  long long head;
  long long first_row;
  unsigned slice;
  int first_tile;
  int end_tile;

  static __device__ AttentionWork of_block(const FusedAttentionArgs& args) {
    return of(args, static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y, blockIdx.x / ColumnPart<F>::count);
  }

  /// `number`: among the works of the head.
  static __device__ AttentionWork of(const FusedAttentionArgs& args, long long head, unsigned number) {
    constexpr int slices = F::config.slices;
    const int slice = static_cast<int>(number % slices);
    const int block = args.tiles.order[number / slices];
    const long long first_row = static_cast<long long>(block) * block_queries(F::config);
    const int begin_of_block = args.tiles.first_tiles[block];
    const auto [first, count] =
        seen_tiles<F>(args, {begin_of_block, args.tiles.first_tiles[block + 1] - begin_of_block}, first_row);
    const int share = (count + slices - 1) / slices;
    const int begin = min(slice * share, count);
    return {.head = head,
            .first_row = first_row,
            .slice = static_cast<unsigned>(slice),
            .first_tile = first + begin,
            .end_tile = first + min(begin + share, count)};
  }

  /// The tile behind one: behind the last, where a block walks in turns, the first again.
  __device__ int behind(int tile) const { return walks_in_turns<F>() && tile + 1 == end_tile ? first_tile : tile + 1; }
};

/// A lane's words of a strip, for `tiles` tiles from one on; behind the last tile they are 0.
template <class F, int tiles>
__device__ inline void load_tile_bits(unsigned (&bits)[tiles], const FusedAttentionArgs& args,
                                      const AttentionWork<F>& work, int tile, unsigned strip) {
  constexpr int words = tile_words(block_queries(F::config));
  const auto load = [&](int one) {
    const long long at = static_cast<long long>(one) * words + strip * 32 + threadIdx.x % 32;
    return seen_bits<F>(load_global(args.tiles.bits + at), args, one, work.first_row + strip * strip_queries());
  };
#pragma unroll
  for (int t = 0; t < tiles; ++t) bits[t] = tile + t < work.end_tile ? load(tile + t) : 0;
}

/// A lane's words of a tile, for `strips` strips from one on.
template <class F, int strips>
__device__ inline void load_bits(unsigned (&bits)[strips], const FusedAttentionArgs& args, const AttentionWork<F>& work,
                                 int tile, unsigned first_strip) {
  const long long first =
      static_cast<long long>(tile) * tile_words(block_queries(F::config)) + first_strip * 32 + threadIdx.x % 32;
#pragma unroll
  for (int q = 0; q < strips; ++q)
    bits[q] = seen_bits<F>(load_global(args.tiles.bits + first + 32 * q), args, tile,
                           work.first_row + (first_strip + q) * strip_queries());
}

/// The bits of a part of `octets` octets of a tile; whether any is set, of the warp's.
template <int octets, int strips>
__device__ inline bool part_bits(unsigned (&of_part)[strips], const unsigned (&bits)[strips], int part) {
  constexpr bool whole = octets == tile_keys() / 8;
  unsigned any = 0;
#pragma unroll
  for (int q = 0; q < strips; ++q) {
    of_part[q] = whole ? bits[q] : bits[q] >> (4 * octets * part) & ((1U << (4 * octets) % 32) - 1);
    any |= of_part[q];
  }
  return __any_sync(0xffffffffU, any != 0);
}

/// Scores of keys that queries do not name become -infinity: of `octets` octets of keys from `first` on, by the lowest
/// bits.
template <int octets, int first = 0, int count>
__device__ inline void mask_scores(float (&scores)[count][4], unsigned bits) {
  constexpr unsigned all = octets == 8 ? 0xffffffffU : (1U << (4 * octets) % 32) - 1;
  if (__all_sync(0xffffffffU, bits == all)) return;
#pragma unroll
  for (int o = 0; o < octets; ++o)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if ((bits >> (4 * o + i) & 1) == 0) scores[first + o][i] = -attention_infinity();
}

/// Sums so far, relative to a new origin.
template <int octets>
__device__ inline void scale_sums(float (&sums)[octets][4], const float (&factors)[2]) {
  if (__all_sync(0xffffffffU, factors[0] == 1.0F && factors[1] == 1.0F)) return;
#pragma unroll
  for (int o = 0; o < octets; ++o)
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[o][i] *= factors[i / 2];
}

/// Weights of 16 keys as the four registers of a, from fragments like those of scores.
template <Dtype element, int octets>
__device__ inline void pack_weights(unsigned (&packed)[octets / 2][4], const float (&scores)[octets][4]) {
#pragma unroll
  for (int o = 0; o < octets; ++o)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      packed[o / 2][o % 2 * 2 + half] = Element<element>::pair_from_float(scores[o][2 * half], scores[o][2 * half + 1]);
}

}  // namespace vostok
