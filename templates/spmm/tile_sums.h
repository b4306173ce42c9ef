// Sums of one tile by several parts of k, added up in the parts' order: groups of warps of a block, and slices of k
// whose blocks are a cluster.
#pragma once

#include "abi/tile_parts.h"
#include "parts/cluster.h"
#include "parts/named_barrier.h"
#include "parts/ordered_loads.h"
#include "spmm/unpack_output.h"
#include "spmm/unpack_sum.h"
#include "spmm/unpack_tile.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// By one thread, beside the stages' barriers.
template <class F>
__device__ inline void initialise_sums(const UnpackWgmmaStages<F>& stages, unsigned slice) {
  constexpr TileParts parts = tile_parts(F::config);
  if constexpr (parts.blocks > 1) {
    initialise_barrier(stages.sent(), 1);
    arrive_expecting(stages.sent(), parts.sent_bytes(static_cast<int>(slice)));
  }
}

/// A warp's sums of its strip. In the end it stores its share of its block's octets of columns.
template <class F, class Sum>
class TileSums {
  static constexpr auto config = F::config;
  static constexpr TileParts parts = tile_parts(config);
  static constexpr unsigned groups = parts.groups;
  static constexpr unsigned octets = parts.octets;
  static constexpr unsigned own_octets = parts.own_octets();
  static constexpr unsigned octet_bytes = parts.octet_bytes();
  static constexpr unsigned share = parts.warp_octets();
  static constexpr unsigned fragment_bytes = 32 * 16;

 public:
  /// `group` of the block, `strip` of the tile: the warp's. `slice`: of k, the block's place in its cluster.
  __device__ TileSums(const Sum& sum, const UnpackWgmmaStages<F>& stages, unsigned slice, unsigned group,
                      unsigned strip)
      : sum_(sum),
        block_(parts.blocks == 1 ? 0 : slice),
        group_(group),
        strip_(strip),
        sent_(stages.sent()),
        shared_(stages.dense(0) + strip * fragment_bytes + threadIdx.x % 32 * 16) {}

  /// Every warp that multiplies, once it is through: hands the others what is theirs, where the stages were.
  __device__ void exchange() {
    if constexpr (parts.count() > 1) {
      // Every part is through with the stages. Threads that copy have ended, or will: a cluster waits for none that
      // has.
      if constexpr (parts.blocks > 1) arrive_at_cluster();
      // Groups of a cluster's block as well: racecheck does not see that the cluster waits for them, and meanwhile it
      // costs nothing.
      if constexpr (groups > 1) wait_for_groups();
      if constexpr (parts.blocks > 1) wait_for_cluster();
#pragma unroll
      for (unsigned octet = 0; octet < octets; ++octet) {
        if (owns(octet)) continue;
        Vector<float, 4> part;
        sum_.fragment(part.at, static_cast<int>(octet));
        hand_over(part, octet);
      }
      if constexpr (parts.blocks > 1) wait_for_sent(sent_, 0);
      else wait_for_groups();
    }
  }

  /// After exchange(): stores what is the warp's in C, or in the slice's place of the partial sums.
  template <class Args>
  __device__ void store(const Args& args, const UnpackTile<F>& tile) const {
    const unsigned lane = threadIdx.x % 32;
    const long long strip = tile.first_strip() + strip_;
    const long long first_octet = tile.first_column() / 8;
    if constexpr (launched_slices(config) > 1) {
      for_each_own<1>([&](unsigned octet, const float(&elements)[1][4]) {
        *partial_fragment(args.partial, tile.product, tile.slice, strip, first_octet + octet, lane) = {
            elements[0][0], elements[0][1], elements[0][2], elements[0][3]};
      });
    } else {
      // Neighbours that all are the warp's own, whichever of the parts it is.
      constexpr int run = FragmentOutput<F>::run(parts.common_run());
      FragmentOutput<F> output(args, tile.product, lane);
      store_fragments<F, 1, octets, run>(output, strip * packed_strip_rows(), tile.first_column(), [&](auto store) {
        for_each_own<run>([&](unsigned octet, const float(&elements)[run][4]) { store(0, octet, elements); });
      });
    }
  }

 private:
  __device__ bool owns(unsigned octet) const {
    return octet / own_octets == block_ && octet % own_octets / share == group_;
  }

  /// visit(octet, fragments) for every `run` of neighbouring octets of the warp's own.
  template <int run, class Visit>
  __device__ void for_each_own(Visit visit) const {
#pragma unroll
    for (unsigned octet = 0; octet < octets; octet += run) {
      if (!owns(octet)) continue;
      float elements[run][4];
#pragma unroll
      for (int i = 0; i < run; ++i) {
        sum_.fragment(elements[i], static_cast<int>(octet) + i);
        if constexpr (parts.count() > 1) add_others(elements[i], octet + i);
      }
      visit(octet, elements);
    }
  }

  static __device__ void wait_for_groups() { wait_at_barrier<1, 32 * consumer_warps(config)>(); }

  __device__ void hand_over(const Vector<float, 4>& part, unsigned octet) const {
    const unsigned to = place(block_ * groups + group_, octet);
    if constexpr (parts.blocks == 1) {
      store_shared_four(to, part);
    } else {
      const unsigned owner = octet / own_octets;
      send_four(address_in_block(to, owner), part, address_in_block(sent_, owner));
    }
  }

  /// Where a part's sums of an octet lie, in the block that owns it.
  __device__ unsigned place(unsigned part, unsigned octet) const {
    return shared_ + (part * own_octets + octet % own_octets) * octet_bytes;
  }

  __device__ void add_others(float (&elements)[4], unsigned octet) const {
    float total[4] = {};
#pragma unroll
    for (unsigned part = 0; part < parts.count(); ++part) {
      Vector<float, 4> addend = {elements[0], elements[1], elements[2], elements[3]};
      if (part != block_ * groups + group_) addend = load_shared_four(place(part, octet));
#pragma unroll
      for (int i = 0; i < 4; ++i) total[i] += addend.at[i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) elements[i] = total[i];
  }

  const Sum& sum_;
  unsigned block_;
  unsigned group_;
  unsigned strip_;
  unsigned sent_;
  unsigned shared_;  ///< the lane's place in the first fragment of the warp's strip
};

}  // namespace vostok
