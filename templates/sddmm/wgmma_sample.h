// SDDMM on Hopper's tensor cores (wgmma): D = scale * (A B^T) o I[mask] (o C) (+ D), by dense products of the tiles
// that hold nonzeros.
//
// A block goes through its share of the list of tiles. One thread copies n blocks of their operands into a ring of
// stages; warpgroups of 64 rows multiply. Each warp lays its sums in shared memory, queues its next tile's products,
// and meanwhile gathers the sums that the list names to where they lie in CSR order; which of the list's entries are
// its own another warp has found out. Operands are prepared by a launch before (sample_operands.h), or 16-bit ones
// copied from where they lie. f32 is two 16-bit terms and three products: hi lo + lo hi + hi hi. Or it is copied from
// where it lies, and split into terms of TF32 by more warps and those that multiply. Sums are in f32.
//
// An element of D is made from one row of A and one of B, and from nothing else: what other elements of a tile come to
// goes nowhere.
#pragma once

#include "abi/fixed.h"
#include "abi/wgmma_sample.h"
#include "parts/dependent_launch.h"
#include "parts/register_pool.h"
#include "parts/warp.h"
#include "sddmm/wgmma_sample_consumer.h"
#include "sddmm/wgmma_sample_finder.h"
#include "sddmm/wgmma_sample_producer.h"
#include "sddmm/wgmma_sample_shared.h"
#include "sddmm/wgmma_sample_splitter.h"

namespace vostok {

/// Shares of the list of tiles lie on the grid's x, the parts of n of every matrix of the batch on y, and on z past
/// what y holds.
template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    wgmma_sample(const __grid_constant__ WgmmaSampleKernelArgs<F::config.tensor_copies> args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  const auto part = SamplePart::of_block<F>(args.sample);
  if (part.matrix >= args.sample.batch) return;

  const WgmmaSampleShared<F> shared;
  if (threadIdx.x == 0) shared.initialise_barriers();
  __syncthreads();

  constexpr unsigned consumers = consumer_warps(config);
  const unsigned warp = warp_of_block();
  if (warp >= consumers) {
    if constexpr (exchanges_registers(config)) give_registers<copying_registers(config)>();
    if (warp == consumers + 1) StripFinder<F>(args, shared).run();
    else if (threadIdx.x == 32 * consumers) SampleProducer<F>(args, part, shared).run();
    else if (splits_operands(config) && warp >= (threads(config) - splitting_threads(config)) / 32)
      RhsSplitter<F>(args, part, shared).run();
  } else {
    if constexpr (exchanges_registers(config)) take_registers<gained_registers(config)>();
    wait_for_previous_launch();
    if constexpr (config.n_split > 1 || config.tensor_copies) allow_next_launch();
    SampleConsumer<F>(args, part, shared).run();
  }
}

}  // namespace vostok
