// C = A B where B has up to four columns: every byte of A is read once, in 16-byte loads that are used where they
// arrive, from packed runs (abi/packed_runs.h). Sums are in f32: those of a run of 32 nonzeros are added to a lane's
// total, and those to one another.
//
// A block stages B in shared memory and computes tile_rows rows that follow one another. lanes_per_row lanes share a
// row and take its runs in turn; the first loads of A are under way while B is staged. No sum depends on what runs
// first.
#pragma once

#include "abi/fixed.h"
#include "abi/sparse_vector.h"
#include "parts/dependent_launch.h"
#include "parts/finite.h"
#include "parts/warp.h"
#include "spmm/sparse_vector_output.h"
#include "spmm/sparse_vector_run.h"

namespace vostok {

/// The runs of a row; none of a row that the tile or the matrix lacks.
struct RowRuns {
  unsigned begin;
  unsigned end;
};

/// What a lane has of its rows' runs.
template <class F>
class LaneRuns {
  static constexpr auto config = F::config;
  static constexpr unsigned lanes = config.lanes_per_row;

 public:
  /// The lane's first row is `first_row`; its rows end before `end_row`.
  __device__ LaneRuns(const SparseVectorArgs& args, unsigned product, long long first_row, long long end_row)
      : runs_(args.runs),
        values_(args.values + product * args.value_stride),
        lane_(threadIdx.x % lanes),
        end_row_(end_row),
        row_(runs_of(first_row)),
        next_row_(runs_of(first_row + rows_together(config))) {}

  /// Loads of the first run.
  __device__ void start() { load(row_.begin + lane_, row_.end); }

  /// Sums the products of `row`, the first or that which follows the last one, and loads of the next.
  __device__ void sum_row(long long row, float (&totals)[config.columns]) {
    const RowRuns own = row_;
    const unsigned steps = (row_.end - row_.begin + lanes - 1) / lanes;
    unsigned run = row_.begin + lane_;
#pragma unroll 1
    for (unsigned step = 0; step < steps; ++step, run += lanes) {
      const bool last = step + 1 == steps;
      step_to(run < row_.end, last ? next_row_.begin + lane_ : run + lanes, last ? next_row_.end : row_.end, totals);
    }
    if (steps == 0) load(next_row_.begin + lane_, next_row_.end);
    row_ = next_row_;
    next_row_ = runs_of(row + 2 * rows_together(config));
    // Slots that stand for no nonzero multiply zero by an element of B that A does not name: it shows where it is not
    // finite.
    if (!all_finite(totals)) sum_nonzeros(own, totals);
  }

 private:
  __device__ void sum_nonzeros(RowRuns row, float (&totals)[config.columns]) const {
#pragma unroll
    for (float& total : totals) total = 0.0F;
#pragma unroll 1
    for (unsigned run = row.begin + lane_; run < row.end; run += lanes) add_nonzeros<F>(runs_, values_, run, totals);
  }

  __device__ RowRuns runs_of(long long row) const {
    if (row >= end_row_) return {0, 0};
    return {load_global(runs_.row_runs + row), load_global(runs_.row_runs + row + 1)};
  }

  __device__ void load(unsigned run, unsigned end) {
    if (run < end) product_.load(runs_, values_, run);
  }

  /// Adds the run that is loaded, where there is one, and loads the next.
  __device__ void step_to(bool loaded, unsigned next, unsigned end, float (&totals)[config.columns]) {
    if constexpr (config.load_ahead) {
      const RunProduct<F> product = product_;
      load(next, end);
      if (loaded) product.add_to(totals);
    } else {
      if (loaded) product_.add_to(totals);
      load(next, end);
    }
  }

  const PackedRuns& runs_;
  const unsigned char* values_;
  unsigned lane_;
  long long end_row_;
  RowRuns row_;
  RowRuns next_row_;
  RunProduct<F> product_;
};

/// The sum over a row's lanes, in every lane of the row's first warp. Every thread of the block calls it, for its
/// `turn`th row.
template <class F>
__device__ inline void sum_over_row(float (&sums)[F::config.columns], unsigned turn) {
  constexpr auto config = F::config;
  constexpr int warp_lanes = config.lanes_per_row < 32 ? config.lanes_per_row : 32;
#pragma unroll
  for (int j = 0; j < config.columns; ++j)
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2) sums[j] += shuffle_xor(sums[j], distance);
  if constexpr (row_warps(config) > 1) {
    auto& of_warps = dynamic_shared<SparseVectorShared<F>>().warp_sums[turn % 2];
    const unsigned warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0)
#pragma unroll
      for (int j = 0; j < config.columns; ++j) of_warps[warp][j] = sums[j];
    __syncthreads();
    if (warp % row_warps(config) != 0) return;
#pragma unroll
    for (int j = 0; j < config.columns; ++j) {
      sums[j] = 0.0F;
#pragma unroll
      for (int w = 0; w < row_warps(config); ++w) sums[j] += of_warps[warp + w][j];
    }
  }
}

/// Tiles of rows lie on the grid's x, products on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads, F::config.min_blocks)
    sparse_vector(const __grid_constant__ SparseVectorArgs args) {
  constexpr auto config = F::config;
  static_assert(keeps_rules<F>());
  static_assert(sizeof(SparseVectorShared<F>) == shared_bytes(F::traits, config),
                "shared_bytes differs from the layout");
  const unsigned product = F::traits.batched ? blockIdx.z * gridDim.y + blockIdx.y : 0;
  if (product >= args.batch) return;

  const long long tile_begin = static_cast<long long>(blockIdx.x) * config.tile_rows;
  const long long end_row = min(tile_begin + config.tile_rows, args.m);
  const long long first_row = tile_begin + threadIdx.x / config.lanes_per_row;
  LaneRuns<F> lane(args, product, first_row, end_row);  // where its runs are, which no launch changes
  if (args.packs) wait_for_previous_launch();
  lane.start();
  follow_previous_launch();
  StagedDense<F>(args, product).fill();
  __syncthreads();

  const RowElement<F> output(args, product);
  constexpr unsigned turns = (config.tile_rows + rows_together(config) - 1) / rows_together(config);
#pragma unroll 1
  for (unsigned turn = 0; turn < turns; ++turn) {
    const long long row = first_row + turn * rows_together(config);
    float sums[config.columns] = {};
    lane.sum_row(row, sums);
    sum_over_row<F>(sums, turn);
    if (row < end_row) output.store(row, threadIdx.x % config.lanes_per_row, sums);
  }
}

}  // namespace vostok
