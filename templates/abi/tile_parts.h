// The parts of k whose sums of one tile are added up before C is stored: groups of warps of a block, which take k
// blocks in turn, and slices of k whose blocks are one cluster. What host and kernels share.
#pragma once

#include "abi/rules.h"

namespace vostok {

struct TileParts {
  int groups;       ///< of a block
  int blocks;       ///< of a cluster
  int octets;       ///< eight columns each, of the tile
  int group_warps;  ///< each with a strip of the tile

  constexpr int count() const { return groups * blocks; }
  /// Octets that a block of the cluster stores: neighbours, so that lines of C are written in long pieces.
  constexpr int own_octets() const { return (octets + blocks - 1) / blocks; }
  /// Those of a warp of one of the block's groups: neighbours likewise.
  constexpr int warp_octets() const { return (own_octets() + groups - 1) / groups; }
  /// The longest runs, in powers of two, that never cross from one owner's octets to another's.
  constexpr int common_run() const {
    int run = 1;
    while (warp_octets() % (2 * run) == 0 && own_octets() % (2 * run) == 0 && octets % (2 * run) == 0) run *= 2;
    return run;
  }
  /// Bytes of an octet's sums of all strips.
  constexpr int octet_bytes() const { return group_warps * 32 * 16; }
  /// Bytes of a block for the sums that parts hand to one another.
  constexpr int bytes() const { return count() == 1 ? 0 : count() * own_octets() * octet_bytes(); }
  /// Bytes of those that other parts send to this block of the cluster.
  constexpr int sent_bytes(int block) const {
    const int behind = octets - block * own_octets();
    const int own = behind < 0 ? 0 : behind < own_octets() ? behind : own_octets();
    return own * (count() - 1) * octet_bytes();
  }
  /// Bytes of the barrier that counts them.
  constexpr int barrier_bytes() const { return blocks == 1 ? 0 : 16; }
};

/// Blocks of a cluster that every device of sm_90 has room for.
consteval int most_cluster_blocks() { return 8; }

template <class Config>
constexpr void cluster_rule(RuleCheck& rule, const Config& c) {
  rule("cluster_sums takes 2 to 8 slices of k, the blocks of a cluster",
       [&] { return !c.cluster_sums || within(c.k_split, 2, most_cluster_blocks()); });
}

}  // namespace vostok
