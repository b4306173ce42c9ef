// SpMM on tensor cores that skip two of every four elements (mma.sp): A comes as sparse strips, whose passes are
// fragments already, B through shared memory. Where four neighbouring elements of a row have more than two nonzeros,
// the others are a second pass: exact for any A, fast where it is rare.
//
// A block computes a tile of C: row_warps x column_warps warps, each of warp_strips strips of 16 rows by warp_columns
// columns. k is walked in blocks of 64, of which `stages` are in shared memory or on their way there; a barrier per k
// block. Sums are in f32.
#pragma once

#include "abi/fixed.h"
#include "abi/sparse_tensor_mma.h"
#include "spmm/sparse_tensor_product.h"
#include "spmm/unpack_dense.h"
#include "spmm/unpack_output.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_stages.h"
#include "spmm/unpack_strips.h"
#include "spmm/unpack_sum.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// What a warp multiplies.
template <class F>
class SparseTensorWarp {
  static constexpr auto config = F::config;
  static constexpr int strips = config.warp_strips;
  static constexpr bool all_fit = config.strip_passes == sparse_steps() * sparse_most_passes();
  using Product = SparseWarpProduct<F>;

 public:
  __device__ explicit SparseTensorWarp(const UnpackTile<F>& tile)
      : lane_(threadIdx.x % 32),
        column_(threadIdx.x / 32 % config.column_warps * config.warp_columns),
        strip_in_tile_(threadIdx.x / 32 / config.column_warps * strips),
        strip_(tile.first_strip() + strip_in_tile_),
        fragments_(threadIdx.x / 32 % config.column_warps, lane_) {}

  /// Adds the product of k block `block`, whose strips are in a stage unless they do not fit.
  __device__ void add(const PackedStrips& packed, unsigned block, SharedAddress stage, SharedAddress starts,
                      SharedAddress dense) {
    if (all_fit || StripStages<F>::fits(starts)) {
      SharedAddress from[strips];
#pragma unroll
      for (int q = 0; q < strips; ++q)
        from[q] = stage + load_word(starts + 4 * (strip_in_tile_ + q)) * packed_unit_bytes();
      product_.add(from, dense, fragments_, lane_);
    } else {
      const unsigned char* from[strips];
#pragma unroll
      for (int q = 0; q < strips; ++q) from[q] = strip_in_memory<F>(packed, block, strip_ + q);
      product_.add(from, dense, fragments_, lane_);
    }
  }

  /// visit(q, o, sums) for each `run` of neighbouring fragments: of which of the warp's strips they are, and from which
  /// of its octets of columns on.
  template <int run, class Visit>
  __device__ void visit_fragments(Visit visit) const {
#pragma unroll
    for (int q = 0; q < strips; ++q)
#pragma unroll
      for (int o = 0; o < Product::octets; o += run) {
        float sums[run][4];
#pragma unroll
        for (int i = 0; i < 4 * run; ++i) sums[i / 4][i % 4] = product_.sum(q, o + i / 4, i % 4);
        visit(q, o, sums);
      }
  }

  __device__ unsigned lane() const { return lane_; }
  __device__ unsigned first_strip() const { return strip_; }
  __device__ long long first_row() const { return static_cast<long long>(strip_) * packed_strip_rows(); }
  __device__ unsigned column() const { return column_; }

 private:
  unsigned lane_;
  unsigned column_;  ///< the warp's first, in the tile
  unsigned strip_in_tile_;
  unsigned strip_;
  DenseFragments<F> fragments_;
  Product product_;
};

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    sparse_tensor_mma(const __grid_constant__ SparseTensorArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  const auto tile = UnpackTile<F>::of_block(args);
  if (!tile.exists(args)) return;

  const PackedStrips packed = F::traits.batched ? packed_set(args.strips, tile.product) : args.strips;
  const UnpackShared<F> shared(0);
  UnpackStages<F, CallerDense<F>> stages(args, tile, packed, shared);
  stages.start();
  if constexpr (config.k_split == 1) expect_biases<F>(args, tile.first_strip(), tile_strips(config), threadIdx.x);
  SparseTensorWarp<F> warp(tile);
  const unsigned count = tile.block_count(args);
  const unsigned first_block = tile.first_block(args);
  StageIndex<config.stages> stage;
#pragma unroll 1
  for (unsigned i = 0; i < count; ++i) {
    wait_async<config.stages - 2>();
    __syncthreads();
    stages.issue();
    warp.add(packed, first_block + i, shared.strips(stage.at), shared.starts(stage.at), shared.dense(stage.at));
    stage.step();
  }

  if constexpr (config.k_split > 1) {
    warp.template visit_fragments<1>([&](int q, int o, const float(&sums)[1][4]) {
      const long long octet = (tile.first_column() + warp.column()) / 8 + o;
      *partial_fragment(args.partial, tile.product, tile.slice, warp.first_strip() + q, octet, warp.lane()) = {
          sums[0][0], sums[0][1], sums[0][2], sums[0][3]};
    });
  } else {
    FragmentOutput<F> output(args, tile.product, warp.lane());
    constexpr int octets = config.warp_columns / 8, run = FragmentOutput<F>::run(octets);
    store_fragments<F, config.warp_strips, octets, run>(output, warp.first_row(), tile.first_column() + warp.column(),
                                                        [&](auto store) { warp.template visit_fragments<run>(store); });
  }
}

}  // namespace vostok
