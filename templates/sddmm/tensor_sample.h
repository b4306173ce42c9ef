// SDDMM on tensor cores (mma.sync): D = scale * (A B^T) o I[mask] (o C) (+ D), by dense products of the tiles that hold
// nonzeros.
//
// A block multiplies a tile of rows of A and one of rows of B, n block after n block of 64, of which `stages` are in
// shared memory or on their way there; then it gathers the elements that the tile's list names and stores them where
// they lie in CSR order. Operands are prepared by a launch before (sample_operands.h). Where n is short, a block goes
// through several tiles and A stays. f32 is two 16-bit terms and three products: hi hi + hi lo + lo hi. Sums are in
// f32.
//
// An element of D is made from one row of A and one of B, and from nothing else: what other elements of a tile come to
// goes nowhere.
#pragma once

#include "abi/fixed.h"
#include "abi/tensor_sample.h"
#include "parts/dependent_launch.h"
#include "sddmm/tensor_sample_output.h"
#include "sddmm/tensor_sample_product.h"
#include "sddmm/tensor_sample_shared.h"
#include "sddmm/tensor_sample_stages.h"
#include "sddmm/tensor_sample_walk.h"

namespace vostok {

/// A block and its tiles.
template <class F>
class TensorSample {
  static constexpr auto config = F::config;
  static constexpr int octet_bytes = sample_octet_bytes(config.mode);

 public:
  __device__ TensorSample(const TensorSampleArgs& args, const SamplePart& part, SampleShared<F>& shared)
      : args_(args), part_(part), shared_(shared), stages_(args, shared), product_(threadIdx.x % 32) {}

  __device__ void run() {
#pragma unroll 1
    for (int i = 0; i + 1 < config.stages; ++i) stages_.issue(part_);
#pragma unroll 1
    for (unsigned number = 0; number < config.tiles_per_block; ++number) {
      wait_for_stage();
      TileInfo<F>& info = shared_.info(number);
      if (info.tile.entries == 0) return;
      if (threadIdx.x < 32) SampleCertificate<F>::note_sure_sum(part_.template length<F>(args_), info);
      if constexpr (config.kept_blocks > 0) keep_lhs(info.tile.row_tile);
      multiply();
      if constexpr (!sums_follow_stages(config)) __syncthreads();  // the last stage has been read
      store_sums<F>(shared_.sums(), product_, warp_row(), warp_column());
      __syncthreads();
      gather_sums<F>({args_, part_.matrix, part_.line}, {args_, part_, info}, args_.lists, info, shared_.sums(),
                     {threadIdx.x, info.tile.entries, threads(config)});
    }
  }

 private:
  /// The warp's first row and column in a tile.
  static __device__ unsigned warp_row() { return threadIdx.x / 32 / config.column_warps * config.warp_rows; }
  static __device__ unsigned warp_column() { return threadIdx.x / 32 % config.column_warps * config.warp_columns; }

  /// Until it has come, and the one before it has been read by all.
  static __device__ void wait_for_stage() {
    wait_async<config.stages - 2>();
    __syncthreads();
  }

  /// Brings A's tile where it stays, unless it is there.
  __device__ void keep_lhs(unsigned row_tile) {
    if (kept_row_tile_ == row_tile) return;
    kept_row_tile_ = row_tile;
    const unsigned char* from = part_.octets<F>(args_, args_.lhs, row_tile * tile_rows(config));
#pragma unroll 1
    for (unsigned block = 0; block < part_.block_count; ++block) {
      copy_bytes<F, lhs_block_bytes(config)>(shared_.kept_lhs() + block * lhs_block_bytes(config), from);
      from += static_cast<long long>(args_.lhs.octet_count) * octet_bytes;
    }
    commit_async();
    wait_async<0>();
    __syncthreads();
    product_.keep(warp_rows(shared_.kept_lhs()));
    if constexpr (config.kept_blocks == 1) __syncthreads();  // sums will lie where A was
  }

  __device__ SharedAddress warp_rows(const unsigned char* lhs) const {
    return shared_address(lhs) + warp_row() / sample_octet_rows() * octet_bytes;
  }

  /// The tile's first stage has come.
  __device__ void multiply() {
    product_.clear();
#pragma unroll 1
    for (unsigned block = 0; block < part_.block_count; ++block) {
      if (block > 0) wait_for_stage();
      stages_.issue(part_);
      const unsigned char* const lhs =
          config.kept_blocks > 0 ? shared_.kept_lhs() + block * lhs_block_bytes(config) : shared_.lhs(stage_.at);
      const SharedAddress rhs =
          shared_address(shared_.rhs(stage_.at)) + warp_column() / sample_octet_rows() * octet_bytes;
      product_.add(warp_rows(lhs), rhs, part_.steps - block * steps_of_block());
      stage_.step();
    }
  }

  const TensorSampleArgs& args_;
  SamplePart part_;
  SampleShared<F>& shared_;
  SampleStages<F> stages_;
  TileProduct<F> product_;
  StageIndex<config.stages> stage_;
  unsigned kept_row_tile_ = 0xffffffffU;
};

/// Chunks of the list of tiles lie on the grid's x, the parts of n of every matrix of the batch on y, and on z past
/// what y holds.
template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    tensor_sample(const __grid_constant__ TensorSampleArgs args) {
  static_assert(keeps_rules<F>());
  const auto part = SamplePart::of_block<F>(args);
  if (part.matrix >= args.batch) return;
  TensorSample<F> sample(args, part, dynamic_shared<SampleShared<F>>());  // the first tile is looked up meanwhile
  wait_for_previous_launch();
  if constexpr (F::config.n_split > 1) allow_next_launch();
  sample.run();
}

}  // namespace vostok
