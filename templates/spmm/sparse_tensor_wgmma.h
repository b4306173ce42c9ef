// SpMM on Hopper's tensor cores that skip two of every four elements (wgmma.sp): A comes as sparse strips
// (abi/sparse_strips.h), whose passes are registers already, B through shared memory. Exact for any A, fast where
// second passes are rare.
//
// A block computes a tile of C: warpgroups of 64 rows by tile_columns columns. One warp or four copy k blocks of both
// operands into a ring of stages; the others load their strips, multiply, and hand stages back. Sums are in f32.
#pragma once

#include "abi/fixed.h"
#include "abi/sparse_tensor_wgmma.h"
#include "parts/dependent_launch.h"
#include "parts/register_pool.h"
#include "parts/warp.h"
#include "spmm/sparse_tensor_wgmma_consumer.h"
#include "spmm/tile_sums.h"
#include "spmm/unpack_tile.h"
#include "spmm/unpack_wgmma_producer.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// One tile, which the consumer has entered.
template <class F>
__device__ inline void consume_tile(const SparseTensorArgs& args, const UnpackTile<F>& tile,
                                    const UnpackWgmmaStages<F>& stages, unsigned warp, SparseConsumer<F>& consumer) {
  if constexpr (launched_slices(F::config) == 1) expect_biases<F>(args, tile.first_strip() + warp, 1, threadIdx.x % 32);
  SparseWarpgroupSum<F> sum;
  consumer.run(sum);
  TileSums<F, SparseWarpgroupSum<F>> sums(sum, stages, tile.slice, 0, warp);
  sums.exchange();
  sums.store(args, tile);
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    sparse_tensor_wgmma(const __grid_constant__ SparseTensorWgmmaArgs<F::config.tensor_copies> args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  const auto tile = UnpackTile<F>::of_block(args);
  if (!tile.exists(args)) return;

  const UnpackWgmmaStages<F> stages;
  if (threadIdx.x == 0) {
#pragma unroll
    for (unsigned stage = 0; stage < config.stages; ++stage) {
      initialise_barrier(stages.full(stage), filling_arrivals(config));
      initialise_barrier(stages.empty(stage), 32 * consumer_warps(config));
    }
    initialise_sums(stages, tile.slice);
    publish_barriers();
  }
  __syncthreads();

  constexpr unsigned consumers = consumer_warps(config);
  const unsigned warp = warp_of_block();
  if (warp >= consumers) {
    if constexpr (exchanges_registers(config)) give_registers<kept_registers(config)>();
    produce_from_place<F>(args, tile, stages, threadIdx.x - 32 * consumers);
  } else {
    if constexpr (exchanges_registers(config)) take_registers<gained_registers(config)>();
    copy_first_strips_beside<F>(args, tile, stages, warp);
    // Strips that do not fit are read here, and the launch before may be what packs them.
    follow_previous_launch();
    SparseConsumer<F> consumer(args, tile, stages, warp);
    tile.visit_all(
        args, [&](const UnpackTile<F>& next) { consumer.enter(args, next, warp); },
        [&](const UnpackTile<F>& one) { consume_tile<F>(args, one, stages, warp, consumer); });
  }
}

}  // namespace vostok
