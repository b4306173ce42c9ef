// SpMM on tensor cores (mma.sync): A is unpacked from packed strips into fragments in registers, B comes through shared
// memory.
//
// A block computes a tile of C: row_warps x column_warps warps, each of warp_strips strips of 16 rows by warp_columns
// columns. k is walked in blocks of 64, of which `stages` are in shared memory or on their way there; a barrier per k
// block. Or k_warps warps have the same warp_strips strips and take the k blocks in turn, each with stages of its own:
// narrow products, whose time is that of reading A, wait at no barrier then and need no slices of k. f32 is two 16-bit
// terms and three products: hi hi + hi lo + lo hi. Sums are in f32.
#pragma once

#include "abi/fixed.h"
#include "abi/unpack_mma.h"
#include "abi/unpack_sum.h"
#include "parts/async_copy.h"
#include "spmm/unpack_dense.h"
#include "spmm/unpack_output.h"
#include "spmm/unpack_product.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_split.h"
#include "spmm/unpack_stages.h"
#include "spmm/unpack_strips.h"
#include "spmm/unpack_sum.h"
#include "spmm/unpack_team.h"
#include "spmm/unpack_team_sums.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// What a warp multiplies.
template <class F>
class UnpackWarp {
  static constexpr auto config = F::config;
  static constexpr int strips = config.warp_strips;
  using Product = WarpProduct<F>;
  using Team = UnpackTeam<F>;

 public:
  __device__ UnpackWarp(const UnpackTile<F>& tile, const PackedStrips& packed)
      : lane_(threadIdx.x % 32),
        column_(Team::thread() / 32 % config.column_warps * config.warp_columns),
        strip_in_tile_(Team::thread() / 32 / config.column_warps * strips),
        strip_(tile.first_strip() + strip_in_tile_),
        fragments_(Team::thread() / 32 % config.column_warps, lane_),
        product_(packed.row_scales + static_cast<long long>(strip_) * packed_strip_rows(), lane_) {}

  /// Adds the product of k block `block`, whose strips are in a stage unless they do not fit, with the terms of B.
  __device__ void add(const PackedStrips& packed, unsigned block, SharedAddress stage, SharedAddress starts,
                      SharedAddress terms) {
    if (config.strip_pairs == packed_most_pairs() || StripStages<F>::fits(starts)) {
      SharedAddress from[strips];
#pragma unroll
      for (int q = 0; q < strips; ++q)
        from[q] = stage + load_word(starts + 4 * (strip_in_tile_ + q)) * packed_unit_bytes();
      product_.add(from, terms, fragments_, lane_);
    } else {
      const unsigned char* from[strips];
#pragma unroll
      for (int q = 0; q < strips; ++q) from[q] = strip_in_memory<F>(packed, block, strip_ + q);
      product_.add(from, terms, fragments_, lane_);
    }
  }

  __device__ void promote(const float* column_scales) { product_.promote(column_scales + column_, lane_); }

  /// After the last promotion.
  __device__ void end(const PackedStrips& packed) {
    product_.end(packed.row_scales + static_cast<long long>(strip_) * packed_strip_rows(), packed.k_blocks, lane_);
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
        for (int i = 0; i < run; ++i) product_.totals(sums[i], q, o + i);
        visit(q, o, sums);
      }
  }
  /// visit(strip, octet, sums) for each fragment: its number among the strips of A, and among the octets of the tile's
  /// columns.
  template <class Visit>
  __device__ void visit_totals(Visit visit) const {
    visit_fragments<1>([&](int q, int o, const float(&sums)[1][4]) { visit(strip_ + q, column_ / 8 + o, sums[0]); });
  }

  __device__ unsigned lane() const { return lane_; }
  __device__ long long first_row() const { return static_cast<long long>(strip_) * packed_strip_rows(); }
  __device__ unsigned column() const { return column_; }

 private:
  unsigned lane_;
  unsigned column_;  ///< the warp's first, of the tile
  unsigned strip_in_tile_;
  unsigned strip_;  ///< the warp's first
  DenseFragments<F> fragments_;
  Product product_;
};

/// The loop over a team's k blocks, of which the first ones are on their way.
template <class F>
__device__ inline void multiply_blocks(UnpackWarp<F>& warp, UnpackStages<F, DenseStages<F>>& stages,
                                       const UnpackShared<F>& shared, const UnpackMmaArgs& args,
                                       const UnpackTile<F>& tile, const PackedStrips& packed) {
  using Team = UnpackTeam<F>;
  constexpr auto config = F::config;
  constexpr bool splits = splits_dense(config);
  const unsigned count = Team::block_count(tile, args);
  const unsigned first_block = Team::first_block(tile, args);
  StageIndex<config.stages> stage;
  StageIndex<config.stages> split_stage;
  StripArrivals<F> arrivals;
  if constexpr (splits) {
    wait_async<config.stages - 2>();
    Team::wait();
    if (count > 0) DenseSplit<F>::split(shared.unsplit(0), shared.split_terms(0), shared.column_scales(0));
    split_stage.step();
  }
  [[maybe_unused]] unsigned until_promotion = config.promotion_blocks;
#pragma unroll 1
  for (unsigned i = 0; i < count; ++i) {
    // A team that splits B is one k block ahead in that: two stages must have landed.
    wait_async<config.stages - (splits ? 3 : 2)>();
    Team::wait();
    arrivals.wait(shared, stage.at);
    stages.issue();
    if constexpr (splits) {
      const unsigned next = (i + 1) % split_buffers();
      if (i + 1 < count)
        DenseSplit<F>::split(shared.unsplit(split_stage.at), shared.split_terms(next), shared.column_scales(next));
      split_stage.step();
    }
    const SharedAddress terms = splits ? shared.split(i % split_buffers()) : shared.dense(stage.at);
    warp.add(packed, first_block + i * Team::count, shared.strips(stage.at), shared.starts(stage.at), terms);
    if constexpr (config.promotion_blocks > 0)
      if (--until_promotion == 0 || i + 1 == count) {
        warp.promote(shared.column_scales(splits ? i % split_buffers() : stage.at));
        until_promotion = config.promotion_blocks;
      }
    stage.step();
  }
}

template <class F>
__global__ void __launch_bounds__(threads(F::config), F::config.min_blocks)
    unpack_mma(const __grid_constant__ UnpackMmaArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  const auto tile = UnpackTile<F>::of_block(args);
  if (!tile.exists(args)) return;

  const PackedStrips packed = F::traits.batched ? packed_set(args.strips, tile.product) : args.strips;
  const UnpackShared<F> shared(UnpackTeam<F>::number());
  UnpackStages<F, DenseStages<F>> stages(args, tile, packed, shared);
  stages.start();
  if constexpr (config.k_split == 1) expect_biases<F>(args, tile.first_strip(), tile_strips(config), threadIdx.x);
  UnpackWarp<F> warp(tile, packed);
  multiply_blocks<F>(warp, stages, shared, args, tile, packed);
  warp.end(packed);

  if constexpr (config.k_split > 1) {
    visit_team_totals<F>(warp, tile, [&](unsigned strip, unsigned octet, const float(&sums)[4]) {
      const long long column_octet = tile.first_column() / 8 + octet;
      *partial_fragment(args.partial, tile.product, tile.slice, strip, column_octet, warp.lane()) = {sums[0], sums[1],
                                                                                                     sums[2], sums[3]};
    });
  } else {
    FragmentOutput<F> output(args, tile.product, warp.lane());
    if constexpr (config.k_warps == 1) {
      constexpr int octets = config.warp_columns / 8, run = FragmentOutput<F>::run(octets);
      store_fragments<F, config.warp_strips, octets, run>(
          output, warp.first_row(), tile.first_column() + warp.column(),
          [&](auto store) { warp.template visit_fragments<run>(store); });
    } else {
      visit_team_totals<F>(warp, tile, [&](unsigned strip, unsigned octet, const float(&sums)[4]) {
        store_fragment<F>(output, static_cast<long long>(strip) * packed_strip_rows(), tile.first_column() + 8 * octet,
                          sums);
      });
    }
  }
}

}  // namespace vostok
