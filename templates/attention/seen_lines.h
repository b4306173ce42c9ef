// Which lines own ones meet, beside what the mask says: heads that share keys, and causal queries.
#pragma once

#include "abi/fused_attention.h"
#include "parts/loads.h"

namespace vostok {

/// Whether a block walks its tiles once for each head of queries that reads its keys.
template <class F>
consteval bool walks_in_turns() {
  return F::traits.grouped && is_by_key(F::traits);
}

/// How often it does.
template <class F>
__device__ inline int turns(const FusedAttentionArgs& args) {
  if constexpr (walks_in_turns<F>()) return args.group;
  else return 1;
}

/// The head of a tile's lines, or the first of them, by the head of own lines.
template <class F>
__device__ inline long long tile_head(const FusedAttentionArgs& args, long long head) {
  if constexpr (walks_in_turns<F>()) return head * args.group;
  else if constexpr (F::traits.grouped) return static_cast<unsigned>(head) / static_cast<unsigned>(args.group);
  else return head;
}

/// The head of queries that a block meets in a turn, by the head of own lines.
template <class F>
__device__ inline long long query_head(const FusedAttentionArgs& args, long long head, int turn) {
  if constexpr (walks_in_turns<F>()) return head * args.group + turn;
  else return head;
}

/// Whether an own line and another that the mask joins see each other.
template <class F>
__device__ inline bool sees(const FusedAttentionArgs& args, long long own, long long other) {
  if constexpr (!F::traits.causal) return true;
  else if constexpr (is_by_key(F::traits)) return own <= other + args.key_offset;
  else return other <= own + args.key_offset;
}

/// Tiles from a first one on.
struct TileRange {
  int first;
  int count;
};

/// How many of a block's tiles begin with a line up to `last`: the first ones, as lines ascend.
__device__ inline int tiles_up_to(const KeyTiles& tiles, TileRange range, long long last) {
  int least = 0, most = range.count;
#pragma unroll 1
  while (least < most) {
    const int middle = (least + most) / 2;
    if (tiles.keys[static_cast<long long>(range.first + middle) * tile_keys()] <= last) least = middle + 1;
    else most = middle;
  }
  return least;
}

/// A block's tiles, without those at the end, or by key at the beginning, that none of its own lines sees.
template <class F>
__device__ inline TileRange seen_tiles(const FusedAttentionArgs& args, TileRange range, long long first_row) {
  if constexpr (!F::traits.causal) return range;
  if constexpr (is_by_key(F::traits)) {
    // Queries of a tile are before those of the next: where that begins early enough, this one ends too early.
    const int skipped = max(tiles_up_to(args.tiles, range, first_row - args.key_offset) - 1, 0);
    return {range.first + skipped, range.count - skipped};
  } else {
    return {range.first, tiles_up_to(args.tiles, range, first_row + block_queries(F::config) - 1 + args.key_offset)};
  }
}

/// A lane's bits of a tile and a strip, without the lines that its own lines, from `first_row` on, do not see.
template <class F>
__device__ inline unsigned seen_bits(unsigned bits, const FusedAttentionArgs& args, int tile, long long first_row) {
  if constexpr (!F::traits.causal) return bits;
  const auto* const lines =
      reinterpret_cast<const unsigned*>(args.tiles.keys) + static_cast<long long>(tile) * tile_keys();
  constexpr int strictest = is_by_key(F::traits) ? 0 : tile_keys() - 1;
  const auto line = static_cast<int>(load_global(lines + strictest));
  if (line >= 0 && sees<F>(args, first_row + (is_by_key(F::traits) ? strip_queries() - 1 : 0), line)) return bits;
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int o = 0; o < tile_keys() / 8; ++o)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto other = static_cast<int>(load_global(lines + 8 * o + 2 * (lane % 4) + i % 2));
      if (!sees<F>(args, first_row + lane / 4 + 8 * (i / 2), other)) bits &= ~(1U << (4 * o + i));
    }
  return bits;
}

}  // namespace vostok
