// Which of a block's tiles a warpgroup takes, where it skips those of which its queries name no key (abi/key_tiles.h).
#pragma once

#include "abi/fused_attention.h"
#include "attention/attention_work.h"
#include "parts/loads.h"

namespace vostok {

/// The tiles of a block that a warpgroup takes: all, or those of whose keys its queries name any.
template <class F>
class TakenTiles {
  static constexpr bool skips = F::config.skips_tiles;
  static constexpr int step = F::config.step_tiles;
  struct Ahead {
    unsigned words[2];
  };
  struct None {};

 public:
  __device__ TakenTiles(const FusedAttentionArgs& args, unsigned group) {
    if constexpr (skips) words_ = args.tiles.taken + group * taken_words(args.tiles.tile_count);
  }

  /// What says which tile comes behind one: loaded before it is asked.
  __device__ auto look_behind(int tile) const {
    if constexpr (skips) {
      const int word = (tile + 1) / 32;
      return Ahead{{load_global(words_ + word), load_global(words_ + word + 1)}};
    } else {
      return None{};
    }
  }
  /// The tile behind one. So many are skipped as the ring has room for beside a stage that is still read.
  template <class Seen>
  __device__ int behind(int tile, const Seen& seen) const {
    if constexpr (skips) {
      const unsigned next = __funnelshift_r(seen.words[0], seen.words[1], static_cast<unsigned>(tile + 1) % 32);
      return tile + min(static_cast<unsigned>(__ffs(static_cast<int>(next))) - 1, F::config.stages - 2U) + 1;
    } else {
      return tile + step;
    }
  }
  /// The first one, or the last tile.
  __device__ int first(const AttentionWork<F>& work) const {
    if constexpr (!skips) return work.first_tile;
    else return min(behind(work.first_tile - 1, look_behind(work.first_tile - 1)), work.end_tile - 1);
  }

 private:
  const unsigned* words_;
};

}  // namespace vostok
