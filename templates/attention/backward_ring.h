// A block's own lines of attention's gradient, and then its tiles one by one, by a warpgroup that copies into a ring of
// stages. PTX only.
#pragma once

#include "attention/backward_copies.h"
#include "parts/mbarrier.h"
#include "parts/ring_place.h"

namespace vostok {

/// `Stages` has the block's own lines at `shared`, and by number stage(i), numbers(i) and the barriers full(i) and
/// empty(i); and own_full().
template <class F, class Places, class Stages>
__device__ inline void copy_backward_tiles(const FusedBackwardArgs& args, const AttentionWork<F>& work,
                                           const Stages& stages, unsigned thread) {
  TileCopies<F, Places, 128> copies(args.walk, tile_head<F>(args.walk, work.head), work.first_tile, work.end_tile,
                                    thread);
  if (!copies.has_next()) return;  // then there may be no operands either
  copy_own_operands<F, Places, 128>(args, work, {stages.shared}, thread);
  arrive_after_copies(stages.own_full());
  RingPlace<F::config.stages> place;
#pragma unroll 1
  while (copies.has_next()) {
    wait_barrier(stages.empty(place.stage), place.parity ^ 1);
    copy_backward_tile<F>(args, copies, {stages.stage(place.stage)}, stages.numbers(place.stage), thread);
    arrive_after_copies(stages.full(place.stage));
    place.advance();
  }
}

}  // namespace vostok
