// The threads that fill stages and multiply from them together: all of a block, or each of its warps on its own. Warps
// on their own take the k blocks in turn, wait for nobody, and read strips that no other warp of the block reads.
#pragma once

#include "spmm/unpack_tile.h"

namespace vostok {

template <class F>
struct UnpackTeam {
  static constexpr unsigned count = teams(F::config);
  static constexpr unsigned size = threads(F::config) / count;
  static_assert(count == 1 || size == 32, "a team is a block or a warp");

  static __device__ unsigned number() { return count == 1 ? 0 : threadIdx.x / size; }
  static __device__ unsigned thread() { return count == 1 ? threadIdx.x : threadIdx.x % size; }

  /// What the team's threads have written to shared memory before is there for all of them after.
  static __device__ void wait() {
    if constexpr (count == 1) __syncthreads();
    else __syncwarp();
  }

  /// The first k block of a team, and how many it has: every so many of its tile's.
  template <class Args>
  static __device__ unsigned first_block(const UnpackTile<F>& tile, const Args& args) {
    return tile.first_block(args) + number();
  }
  template <class Args>
  static __device__ unsigned block_count(const UnpackTile<F>& tile, const Args& args) {
    return (tile.block_count(args) + count - 1 - number()) / count;
  }
};

}  // namespace vostok
