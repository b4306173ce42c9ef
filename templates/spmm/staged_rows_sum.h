// The sums of staged_rows' slices, added in their order, and C stored: deterministic, however blocks ran.
#pragma once

#include "abi/fixed.h"
#include "parts/dependent_launch.h"
#include "spmm/partial_rows.h"
#include "spmm/row_output.h"
#include "spmm/tile_index.h"

namespace vostok {

/// The sums of a lane's columns of a row.
template <class F>
struct SliceSum {
  float at[LaneColumns<F>::chunks][F::config.dense_vector] = {};

  __device__ float total(int chunk, int j) const { return at[chunk][j]; }

  /// Adds what the launch before wrote: not to be read early, as what is only read may be.
  __device__ void add(const float* row, const LaneColumns<F>& columns) {
#pragma unroll
    for (int c = 0; c < LaneColumns<F>::chunks; ++c) {
      if (!columns.exists(c)) continue;
      const auto part = load_own(reinterpret_cast<const PiecePart<F>*>(row + columns.column(c)));
#pragma unroll
      for (int j = 0; j < F::config.dense_vector; ++j) at[c][j] += part.at[j];
    }
  }
};

template <class F>
__global__ void __launch_bounds__(threads(F::config)) staged_rows_sum(const __grid_constant__ StagedRowsArgs args) {
  constexpr auto config = F::config;
  follow_previous_launch();
  const auto tile = TileIndex<F>::of_block(args.product);
  const unsigned row = tile.row_tile * config.rows + threadIdx.x / config.threads_per_row;
  if (!tile.exists(args.product, config.rows, args.product.m) || row >= args.product.m) return;
  const LaneColumns<F> columns{tile.first_column(threadIdx.x % config.threads_per_row), args.product.n};
  SliceSum<F> sum;
#pragma unroll 8
  for (unsigned slice = 0; slice < args.slices; ++slice)
    sum.add(PartialRows(args, tile.product, slice).row(row), columns);
  store_row(sum, args.product, operands_of<F>(args.product, tile.product), columns, row, true);
}

}  // namespace vostok
