// Attention at a mask in one kernel, by wgmma: as fused_mma, with warpgroups of 64 queries, and one more that gathers
// keys and values into a ring of stages (Shah et al.: FlashAttention-3, arXiv 2407.08608). PTX only.
//
// A warpgroup queues the scores of the next tile before the product of this one with values, so that tensor cores are
// busy while it makes exponentials.
#pragma once

#include "abi/fixed.h"
#include "abi/fused_wgmma.h"
#include "attention/attention_group.h"
#include "attention/attention_output.h"
#include "attention/attention_work.h"
#include "attention/dropout.h"
#include "attention/stage_reader.h"
#include "attention/step_bias.h"
#include "attention/taken_tiles.h"
#include "attention/tile_copies.h"
#include "attention/wgmma_stages.h"
#include "parts/dependent_launch.h"
#include "parts/mbarrier.h"
#include "parts/register_pool.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/warp.h"
#include "parts/wgmma.h"

namespace vostok {

/// Where a thread is among a block's stages, and the parity of its queries.
template <class F>
struct AttentionPlace {
  RingPlace<F::config.stages> ring;
  unsigned queries = 0;
};

/// visit(work) for each of this block's: one, or where blocks are persistent one of each gridDim.x.
template <class F, class Visit>
__device__ inline void visit_works(const FusedAttentionArgs& args, Visit visit) {
  if constexpr (F::config.persistent) {
    const long long of_head = static_cast<long long>(args.tiles.block_count) * F::config.slices;
#pragma unroll 1
    for (long long i = blockIdx.x; i < of_head * args.heads; i += gridDim.x)
      visit(AttentionWork<F>::of(args, i / of_head, static_cast<unsigned>(i % of_head)));
  } else {
    const auto work = AttentionWork<F>::of_block(args);
    if (work.head < args.heads) visit(work);
  }
}

template <class F>
__device__ inline void copy_tiles(const FusedAttentionArgs& args, const AttentionWork<F>& work,
                                  const AttentionStages<F>& stages, AttentionPlace<F>& place, unsigned thread) {
  TileCopies<F, SlabPlaces<F>, 128, F::config.step_tiles, 2> copies(args, tile_head<F>(args, work.head),
                                                                    work.first_tile, work.end_tile, thread);
  if (!copies.has_next()) return;  // then there may be no queries either
  if constexpr (F::config.persistent) wait_barrier(stages.queries_empty(), place.queries ^ 1);
  copy_queries<F, SlabPlaces<F>, 128>(args, work.head, work.first_row, {stages.shared}, thread);
  arrive_after_copies(stages.queries_full());
  place.queries ^= 1;
#pragma unroll 1
  while (copies.has_next()) {
    wait_barrier(stages.empty(place.ring.stage), place.ring.parity ^ 1);
    if constexpr (F::config.values_apart) {
      copies.copy_keys({stages.stage(place.ring.stage)});
      arrive_after_copies(stages.full(place.ring.stage));
      wait_barrier(stages.values_empty(place.ring.stage), place.ring.parity ^ 1);
      copies.copy_values({stages.stage(place.ring.stage)});
    } else {
      copies.copy({stages.stage(place.ring.stage)});
    }
    arrive_after_copies(stages.values_full(place.ring.stage));
    place.ring.advance();
  }
}

/// The tiles of a warpgroup, whose sums and statistics are complete on return.
template <class F>
__device__ inline void attend(const FusedAttentionArgs& args, const AttentionWork<F>& work,
                              const AttentionStages<F>& stages, AttentionPlace<F>& place, unsigned strip,
                              AttentionGroup<F>& group) {
  if (work.first_tile == work.end_tile) return;
  constexpr int step = F::config.step_tiles;
  StageReader<F> reader{stages, place.ring};
  unsigned bits[step], next_bits[step], kept[step];
  const Dropout<F> dropout(args, work.head);
  const long long first_row = work.first_row + strip * strip_queries();
  constexpr bool reads_exponents = StageReader<F>::lanes_release;
  const auto exponentiate = [&](auto between) {
    if constexpr (!reads_exponents) reader.release_keys();
    group.exponentiate(bits, kept, reader.stage(), between);
    if constexpr (reads_exponents) reader.release_keys();
  };
  const TakenTiles<F> taken(args, group.number());
  int tile = taken.first(work);
  load_tile_bits<F>(bits, args, work, tile, strip);
  TilePlaces<F> places[step];
  load_tile_places<F>(places, args, tile, work.end_tile, strip);
  int next = taken.behind(tile, taken.look_behind(tile));
  auto seen = taken.look_behind(next);
  wait_barrier(stages.queries_full(), place.queries);
  place.queries ^= 1;
  group.take_queries();
  reader.skip(tile - work.first_tile);
  reader.wait_keys();
  group.begin_scores(reader.stage());
  load_tile_bits<F>(next_bits, args, work, next, strip);
  group.take_bias(places, bits);
  load_tile_places<F>(places, args, next, work.end_tile, strip);
  dropout.find_kept(kept, bits, tile, first_row);
  wait_multiplications();
  exponentiate([] {});
  group.take();
#pragma unroll 1
  while (next < work.end_tile) {
    const RingPlace<F::config.stages> before = reader.ring;
    reader.ring.advance();
    reader.skip(next - tile - step);
    reader.wait_keys();
    group.begin_scores(reader.stage());
    reader.wait_values(before);
    group.begin_values(stages.stage(before.stage));
    tile = next;
    next = taken.behind(tile, seen);
    seen = taken.look_behind(next);
#pragma unroll
    for (int t = 0; t < step; ++t) bits[t] = next_bits[t];
    load_tile_bits<F>(next_bits, args, work, next, strip);
    group.take_bias(places, bits);
    load_tile_places<F>(places, args, next, work.end_tile, strip);
    dropout.find_kept(kept, bits, tile, first_row);
    wait_multiplications<1>();
    // Values are waited for where their products are done by then, so that their stage is soon copied to again.
    exponentiate([&] {
      wait_multiplications();
      reader.release_values(before.stage);
    });
    group.take();
  }
  if constexpr (F::config.persistent) arrive(stages.queries_empty());  // every lane for what it may have read
  reader.wait_values(reader.ring);
  group.begin_values(reader.stage());
  wait_multiplications();
  if constexpr (F::config.persistent || F::config.skips_tiles) {
    reader.release_values(reader.ring.stage);
    reader.ring.advance();
    reader.skip(work.end_tile - tile - 1);
  }
  group.finish((work.end_tile - work.first_tile) * tile_keys());
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    fused_wgmma(const __grid_constant__ FusedAttentionArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(FusedWgmmaShared<F>) <= shared_bytes(F::traits, config), "the host gives less shared memory");
  const AttentionStages<F> stages = {shared_address(&dynamic_shared<FusedWgmmaShared<F>>()).at};
  if (threadIdx.x == 0) {
#pragma unroll
    for (unsigned i = 0; i < config.stages; ++i) {
      initialise_barrier(stages.full(i), 128);
      initialise_barrier(stages.empty(i), (StageReader<F>::lanes_release ? 128 : 4) * config.groups);
      if constexpr (F::config.values_apart) {
        initialise_barrier(stages.values_full(i), 128);
        initialise_barrier(stages.values_empty(i), 4 * config.groups);
      }
    }
    initialise_barrier(stages.queries_full(), 128);
    if constexpr (config.persistent) initialise_barrier(stages.queries_empty(), 128 * config.groups);
    publish_barriers();
  }
  __syncthreads();
  follow_previous_launch();

  const unsigned warp = warp_of_block();
  AttentionPlace<F> place;
  if (warp >= 4 * config.groups) {
    if constexpr (exchanges_registers(config)) give_registers<kept_registers(config)>();
    visit_works<F>(args, [&](const AttentionWork<F>& work) {
      copy_tiles<F>(args, work, stages, place, threadIdx.x - 128 * config.groups);
    });
  } else {
    if constexpr (exchanges_registers(config)) take_registers<gained_registers(config)>();
    visit_works<F>(args, [&](const AttentionWork<F>& work) {
      AttentionGroup<F> group(args, work, stages, warp / 4, warp);
      attend<F>(args, work, stages, place, warp, group);
      const StripOutput<F> output(args, work.head, work.first_row + warp * strip_queries());
      if constexpr (F::config.slices > 1)
        output.store_partial(group.sums(), group.softmax(), work.slice, F::config.slices);
      else output.store(group.sums(), group.softmax());
    });
  }
}

}  // namespace vostok
