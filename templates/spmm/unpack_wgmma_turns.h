// Which k blocks of a slice a group of warpgroups of unpack_wgmma takes: those that share scales of B's columns, one behind the other, then
// the other groups have theirs.
#pragma once

#include "abi/unpack_wgmma.h"

namespace vostok {

template <class F>
struct GroupTurns {
  static constexpr unsigned groups = F::config.k_groups;
  static constexpr unsigned run = scale_blocks(F::config);  ///< k blocks of one turn

  static __device__ unsigned first(unsigned group) { return group * run; }

  /// How many of a slice's `blocks` are the group's.
  static __device__ unsigned count(unsigned blocks, unsigned group) {
    if constexpr (groups == 1) return blocks;
    const unsigned rounds = blocks / (groups * run);
    const unsigned rest = blocks - rounds * (groups * run);
    const unsigned begin = first(group);
    return rounds * run + (rest <= begin ? 0 : rest - begin < run ? rest - begin : run);
  }

  /// From a k block of the group to its next one. `place`: the block's number in its turn, or any that agrees with it modulo `run`.
  static __device__ unsigned step(unsigned place) {
    if constexpr (groups == 1) return 1;
    return run == 1 || place % run == run - 1 ? 1 + (groups - 1) * run : 1;
  }
};

}  // namespace vostok
