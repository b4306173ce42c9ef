// SpMM on Hopper's tensor cores (wgmma): A is unpacked from packed strips into registers, B comes through shared
// memory.
//
// A block computes a tile of C: warpgroups of 64 rows by tile_columns columns. One warp, four or eight copy k blocks of
// both operands into a ring of stages, or split a B of f32 on its way; the others unpack their strips and multiply, and
// hand stages back. Where there are several groups of warpgroups, each takes every so many-th k block, and they add up
// what they have at the end; so do the blocks of a cluster, each of which has a slice of k. f32 is two 16-bit terms and
// three products: hi hi + hi lo + lo hi. Sums are in f32.
#pragma once

#include "abi/either.h"
#include "abi/fixed.h"
#include "abi/unpack_wgmma.h"
#include "parts/dependent_launch.h"
#include "parts/opaque.h"
#include "parts/register_pool.h"
#include "parts/warp.h"
#include "spmm/left_over.h"
#include "spmm/left_over_batches.h"
#include "spmm/split_copies.h"
#include "spmm/tile_sums.h"
#include "spmm/unpack_wgmma_consumer.h"
#include "spmm/unpack_wgmma_producer.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// One tile, of which the consumer has entered the first k block.
template <class F>
__device__ inline void consume_tile(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile,
                                    const UnpackWgmmaStages<F>& stages, ConsumerWarp<F> warp, Consumer<F>& consumer) {
  const long long first_row = static_cast<long long>(tile.first_strip() + warp.strip) * packed_strip_rows();
  if constexpr (launched_slices(F::config) == 1)
    expect_biases<F>(args, tile.first_strip() + warp.strip, 1, threadIdx.x % 32);
  if constexpr (F::config.kept_blocks > 0) consumer.take_strips(args, tile, warp);
  SumsAside<F> aside;
  const PackedStrips strips = packed_set(args.strips, tile.product);
  WarpgroupSum<F> sum(strips.row_scales + first_row, aside);
  if constexpr (takes_fours(F::config) && !batches_left_over(F::config)) {
    const unsigned part = tile.slice * F::config.k_groups + warp.group;
    const unsigned scratch = stages.scratch(warp.group * group_warps(F::config) + warp.strip);
    LeftOverProducts<F>(args, LeftOverEntries<F>(strips.left_over, first_row, part), tile.product, tile.first_column(),
                        scratch)
        .add_to(sum);
  }
  consumer.run(sum);
  unsigned product = tile.product;
  make_opaque(product);  // else the rows' address would be kept in registers, or set aside
  sum.vouch(packed_set(args.strips, product).row_scales + first_row, strips.k_blocks);
  TileSums<F, WarpgroupSum<F>> sums(sum, stages, tile.slice, warp.group, warp.strip);
  sums.exchange();
  sums.store(args, tile);
}

template <class F>
__device__ inline void consume(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile,
                               const UnpackWgmmaStages<F>& stages, ConsumerWarp<F> warp) {
  copy_first_strips_beside<F>(args, tile, stages, warp.group * group_warps(F::config) + warp.strip);
  // Where strips lie does not depend on any launch: the first ones are looked up before the wait. Their rows' scales
  // do.
  Consumer<F> consumer(args, tile, stages, warp);
  follow_previous_launch();
  tile.visit_all(
      args, [&](const UnpackTile<F>& next) { consumer.enter(args, next, warp); },
      [&](const UnpackTile<F>& one) { consume_tile<F>(args, one, stages, warp, consumer); });
}

/// By one of the warps beside the one that copies. `warp`: of those.
template <class F>
__device__ inline void collect_left_over(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile,
                                         const UnpackWgmmaStages<F>& stages, unsigned warp) {
  if (warp >= left_collectors(F::config)) return;
  LeftOverCollector<F> collector(stages, warp);
  wait_for_previous_launch();
  tile.visit_all(args, [](const UnpackTile<F>&) {}, [&](const UnpackTile<F>& one) { collector.collect(args, one); });
  wait_async<0>();
}

/// By one of the warps beside those that bring B, which stays. `warp`: of those.
template <class F>
__device__ inline void copy_strips(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile,
                                   const UnpackWgmmaStages<F>& stages, unsigned warp) {
  give_registers<strip_warp_registers()>();
  if (warp < F::config.warpgroups && threadIdx.x % 32 == 0) produce_strips(args, tile, stages, warp);
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    unpack_wgmma(const __grid_constant__ UnpackWgmmaKernelArgs<F::config.tensor_copies> args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  const auto tile = UnpackTile<F>::of_block(args);
  if (!tile.exists(args)) return;

  const UnpackWgmmaStages<F> stages;
  if (threadIdx.x == 0) {
#pragma unroll
    for (unsigned stage = 0; stage < config.stages; ++stage) {
#pragma unroll
      for (unsigned ring = 0; ring < strip_rings(config); ++ring) {
        initialise_barrier(stages.full(stage, ring), filling_arrivals(config));
        initialise_barrier(stages.empty(stage, ring), 32 * group_warps(config) / strip_rings(config));
      }
    }
    if constexpr (keeps_dense(config)) {
#pragma unroll
      for (unsigned room = 0; room < config.dense_rooms; ++room) {
        initialise_barrier(stages.dense_full(room), splitting_lanes(config));
        initialise_barrier(stages.dense_empty(room), 32 * group_warps(config));
      }
    }
    initialise_batches(stages);
    initialise_units(stages);
    if constexpr (config.kept_blocks > 0) {
      initialise_barrier(stages.kept_full(), config.kept_blocks);
      initialise_barrier(stages.kept_empty(), 32 * consumer_warps(config));
    }
    initialise_sums(stages, tile.slice);
    publish_barriers();
  }
  __syncthreads();

  constexpr unsigned consumers = consumer_warps(config);
  const unsigned warp = warp_of_block();
  if (warp >= consumers) {
    const unsigned copying = warp - consumers;
    if constexpr (keeps_dense(config))
      if (copying >= config.producer_warps) return copy_strips(args, tile, stages, copying - config.producer_warps);
    if constexpr (exchanges_registers(config)) give_registers<kept_registers(config)>();
    if constexpr (batches_left_over(config))
      if (copying > 0) return collect_left_over(args, tile, stages, copying - 1);
    produce(args, tile, stages, copying);
  } else {
    if constexpr (exchanges_registers(config)) take_registers<gained_registers(config)>();
    consume(args, tile, stages, ConsumerWarp<F>(warp));
  }
}

}  // namespace vostok
