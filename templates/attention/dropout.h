// Probabilities that are dropped at random: which of a lane's are kept, as bits that lie as those of a tile do, and
// what the others are multiplied by. Row statistics are those of all.
#pragma once

#include "abi/dropout.h"
#include "abi/fused_attention.h"
#include "attention/attention_work.h"
#include "attention/online_softmax.h"
#include "attention/seen_lines.h"
#include "parts/loads.h"
#include "parts/opaque.h"

namespace vostok {

/// What is kept is multiplied by this.
template <class F>
__device__ inline float kept_scale(const FusedAttentionArgs& args) {
  if constexpr (F::traits.dropped) return args.kept_scale;
  else return 1.0F;
}

/// What a row's sums are multiplied by at the end.
template <class F>
__device__ inline float output_factor(const FusedAttentionArgs& args, float total) {
  if constexpr (F::traits.dropped) return softmax_divisor(total) * args.kept_scale;
  else return softmax_divisor(total);
}

/// What a head of queries drops.
template <class F>
class Dropout {
  static constexpr bool by_key = is_by_key(F::traits);

 public:
  /// Once the launch before has stored seed and offset.
  __device__ Dropout(const FusedAttentionArgs& args, long long query_head) : args_(args) {
    if constexpr (F::traits.dropped) {
      auto head = static_cast<unsigned>(query_head);
      make_opaque(head);  // else threads that only copy would keep it in registers, too
      key_ = dropout_key(load_own(args.dropout_state), load_own(args.dropout_state + 1), head);
    }
  }

  __device__ bool keeps(long long own, long long other) const {
    if constexpr (!F::traits.dropped) return true;
    const auto row = static_cast<unsigned>(by_key ? other : own), column = static_cast<unsigned>(by_key ? own : other);
    return dropout_number(key_, row, column) >= args_.dropped_below;
  }

  /// A lane's bits of a tile and a strip from `first_row` on, of which the warp sees `bits`: none where these are 0.
  __device__ unsigned find_kept(unsigned bits, int tile, long long first_row) const {
    if constexpr (!F::traits.dropped) return bits;
    if (!__any_sync(0xffffffffU, bits != 0)) return 0;
    unsigned lane = threadIdx.x % 32;
    make_opaque(lane);  // what is made of it has no registers between tiles
    const int* const lines = args_.tiles.keys + static_cast<long long>(tile) * tile_keys() + 2 * (lane % 4);
    unsigned kept = 0;
#pragma unroll
    for (int o = 0; o < tile_keys() / 8; ++o) {
      const auto pair = load_global(reinterpret_cast<const Vector<int, 2>*>(lines + 8 * o));
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (keeps(first_row + lane / 4 + 8 * (i / 2), pair.at[i % 2])) kept |= 1U << (4 * o + i);
    }
    return kept;
  }

  /// Likewise of `tiles` tiles from one on.
  template <int tiles>
  __device__ void find_kept(unsigned (&kept)[tiles], const unsigned (&bits)[tiles], int tile,
                            long long first_row) const {
#pragma unroll
    for (int t = 0; t < tiles; ++t) kept[t] = find_kept(bits[t], tile + t, first_row);
  }

 private:
  const FusedAttentionArgs& args_;
  DropoutKey key_ = {};
};

/// Probabilities that are not kept become 0: of `octets` octets of keys from `first` on, by the lowest bits.
template <class F, int octets, int first = 0, int count>
__device__ inline void drop(float (&probabilities)[count][4], unsigned kept) {
  if constexpr (F::traits.dropped) {
#pragma unroll
    for (int o = 0; o < octets; ++o)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if ((kept >> (4 * o + i) & 1) == 0) probabilities[first + o][i] = 0.0F;
  }
}

}  // namespace vostok
