// Values into packed strips (abi/packed_strips.h), in one pass over them, or two where rows are scaled: the first finds
// the rows' largest magnitudes, and leaves in the caches what the second reads.
//
// A block works at one row strip, a warp at one of its strips at a time: its lanes take the strip's nonzeros in order,
// row by row, and put the strip together in shared memory, which is written as one run. 16-bit values are copied to
// shared memory before that, in whole units of 16 bytes. What its rows leave over a block copies last.
//
// A transpose's values lie row by row of A. Where packs_beside, the warps of a block work at neighbouring row strips of
// one k block, so that L1 serves all of them with a sector that one of them has read.
#pragma once

#include "abi/fixed.h"
#include "abi/pack_strips.h"
#include "parts/dependent_launch.h"
#include "topology/strip_packer.h"

namespace vostok {

/// A block's share of a row strip.
template <class F, bool placed>
__device__ inline void pack_row_strip(const PackStripsArgs& args, unsigned set, unsigned split) {
  constexpr unsigned warps = F::config.threads / packed_lanes();
  const StripPacker<F, placed> packer(args, blockIdx.x, set);
  if constexpr (packed_scales_rows(F::traits.mode))
    packer.find_scales(split == 0 ? args.row_scales + set * (args.set_bytes / 4) : nullptr);
  packer.pack(split * warps + threadIdx.x / packed_lanes(), warps * args.splits);
  if constexpr (F::traits.marked)
    if (args.exact != nullptr)
      packer.copy_exact(args.firsts + set * (args.set_bytes / 4), args.exact + set * (args.set_bytes / 4), split,
                        args.splits);
  if constexpr (F::traits.grain == PackedGrain::four)
    packer.copy_left(args.left_over + set * (args.set_bytes / int{sizeof(LeftEntry)}), split, args.splits);
}

/// A block's share of as many row strips as it has warps.
template <class F>
__device__ inline void pack_neighbours(const PackStripsArgs& args, unsigned set, unsigned split) {
  const unsigned row_strip = (blockIdx.x * F::config.threads + threadIdx.x) / packed_lanes();
  StripPacker<F, true>(args, row_strip, set).pack_beside(split, args.splits);
}

/// Blocks that a multiprocessor is to hold at least; 0: as the compiler thinks best. It thinks of too many, and spills,
/// where rows are scaled, and from sm_100 on.
template <class F>
consteval int pack_strips_blocks() {
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 1000
  return !packed_scales_rows(F::traits.mode) ? 6 : F::traits.marked ? 3 : 4;
#else
  return packed_scales_rows(F::traits.mode) ? 4 : 0;
#endif
}

/// Row strips lie on the grid's x, sets and the shares of their strips on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads, pack_strips_blocks<F>())
    pack_strips(const __grid_constant__ PackStripsArgs args) {
  static_assert(F::config.threads % packed_lanes() == 0 && F::config.threads <= 1024, "pack_strips: whole warps");
  static_assert(!F::traits.marked || packed_scales_rows(F::traits.mode),
                "pack_strips: what is not scaled has no marks");
  static_assert(!packs_beside(F::traits) || packed_row_strip_multiple() % (F::config.threads / packed_lanes()) == 0,
                "pack_strips: warps share row strips evenly");
  constexpr int copied_words = pack_strips_copied_words(F::traits.element, F::traits.placed);
  static_assert(sizeof(PackStripsShared<F::traits.mode, F::traits.grain, copied_words, F::config.threads>) <=
                    shared_bytes(F::traits, F::config),
                "pack_strips: shared memory");
  const unsigned line = blockIdx.z * gridDim.y + blockIdx.y;
  const unsigned set = line / args.splits, split = line % args.splits;
  if (set >= args.sets) return;
  wait_for_previous_launch();
  if constexpr (packs_beside(F::traits)) pack_neighbours<F>(args, set, split);
  else if constexpr (F::traits.placed) pack_row_strip<F, true>(args, set, split);
  else if (args.structure.value_places == nullptr) pack_row_strip<F, false>(args, set, split);
  else pack_row_strip<F, true>(args, set, split);
  publish_to_next_launch();
}

}  // namespace vostok
