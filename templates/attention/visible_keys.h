// Which keys a head of queries reads, and which of them a query sees beside what the mask says.
#pragma once

#include "abi/fused_attention.h"
#include "parts/loads.h"

namespace vostok {

/// The head of keys and values of a head of queries.
template <class F>
__device__ inline long long key_head(const FusedAttentionArgs& args, long long head) {
  if constexpr (F::traits.grouped) return static_cast<unsigned>(head) / static_cast<unsigned>(args.group);
  else return head;
}

/// Whether an own line sees another that the mask has.
template <class F>
__device__ inline bool sees(const FusedAttentionArgs& args, long long own, long long other) {
  if constexpr (!F::traits.causal) return true;
  else return other <= own + args.key_offset;
}

/// Of a block's tiles from `first` on, those that begin with a key up to `last`: the first ones, as keys ascend.
__device__ inline int tiles_up_to(const KeyTiles& tiles, int first, int count, long long last) {
  int least = 0, most = count;
#pragma unroll 1
  while (least < most) {
    const int middle = (least + most) / 2;
    if (tiles.keys[static_cast<long long>(first + middle) * tile_keys()] <= last) least = middle + 1;
    else most = middle;
  }
  return least;
}

/// A lane's bits of a tile and a strip, without the keys that its queries, from `first_row` on, do not see.
template <class F>
__device__ inline unsigned seen_bits(unsigned bits, const FusedAttentionArgs& args, int tile, long long first_row) {
  if constexpr (!F::traits.causal) return bits;
  const long long first_key = static_cast<long long>(tile) * tile_keys();
  const auto* const keys = reinterpret_cast<const unsigned*>(args.tiles.keys) + first_key;
  const long long last = first_row + args.key_offset;  // of the strip's first query
  const int last_of_tile = static_cast<int>(load_global(keys + tile_keys() - 1));
  if (last_of_tile >= 0 && last_of_tile <= last) return bits;
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int o = 0; o < tile_keys() / 8; ++o)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto key = static_cast<int>(load_global(keys + 8 * o + 2 * (lane % 4) + i % 2));
      if (key > last + lane / 4 + 8 * (i / 2)) bits &= ~(1U << (4 * o + i));
    }
  return bits;
}

}  // namespace vostok
