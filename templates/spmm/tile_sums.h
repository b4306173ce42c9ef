// Sums of one tile by several groups of warps of unpack_wgmma, each of its own k blocks, added up in the groups' order.
#pragma once

#include "parts/named_barrier.h"
#include "parts/ordered_loads.h"
#include "spmm/unpack_wgmma_consumer.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// What a warp stores in the end: with several groups every k_groups-th octet of columns, with one group all.
template <class F>
class GroupSums {
  static constexpr auto config = F::config;
  static constexpr unsigned groups = config.k_groups;
  static constexpr unsigned octets = config.tile_columns / 8;
  static constexpr unsigned fragment_bytes = 32 * 16;
  static constexpr unsigned octet_bytes = group_warps(config) * fragment_bytes;
  static constexpr unsigned group_bytes = octets * octet_bytes;
  static_assert(groups == 1 || groups * group_bytes <= static_cast<unsigned>(config.stages * stage_bytes(F::traits, config)),
                "the groups' sums fit in the place of the stages");

 public:
  __device__ GroupSums(const WarpgroupSum<F>& sum, const UnpackWgmmaStages<F>& stages, ConsumerWarp<F> warp)
      : sum_(sum), group_(warp.group), shared_(stages.dense(0) + warp.strip * fragment_bytes + threadIdx.x % 32 * 16) {}

  __device__ bool owns(unsigned octet) const { return groups == 1 || octet % groups == group_; }

  /// Every warp that multiplies, once it is through: hands the others what is theirs, where the stages were.
  __device__ void exchange() {
    if constexpr (groups > 1) {
      wait_for_consumers();
#pragma unroll
      for (unsigned octet = 0; octet < octets; ++octet) {
        if (owns(octet)) continue;
        Vector<float, 4> part;
        sum_.fragment(part.at, static_cast<int>(octet));
        store_shared_four(place(group_, octet), part);
      }
      wait_for_consumers();
    }
  }

  /// The fragment of an own octet.
  __device__ void fragment(float (&elements)[4], int octet) const {
    sum_.fragment(elements, octet);
    if constexpr (groups > 1) add_others(elements, octet);
  }

 private:
  static __device__ void wait_for_consumers() { wait_at_barrier<1, 32 * consumer_warps(config)>(); }
  __device__ unsigned place(unsigned group, unsigned octet) const { return shared_ + group * group_bytes + octet * octet_bytes; }

  __device__ void add_others(float (&elements)[4], unsigned octet) const {
    float total[4] = {};
#pragma unroll
    for (unsigned group = 0; group < groups; ++group) {
      Vector<float, 4> part = {elements[0], elements[1], elements[2], elements[3]};
      if (group != group_) part = load_shared_four(place(group, octet));
#pragma unroll
      for (int i = 0; i < 4; ++i) total[i] += part.at[i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) elements[i] = total[i];
  }

  const WarpgroupSum<F>& sum_;
  unsigned group_;
  unsigned shared_;  ///< the lane's place in the first fragment of the warp's strip
};

}  // namespace vostok
