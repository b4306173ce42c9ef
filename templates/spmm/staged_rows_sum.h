// The sums of staged_rows' slices, added in their order, and C stored: deterministic, however blocks ran.
#pragma once

#include "abi/fixed.h"
#include "spmm/partial_rows.h"
#include "spmm/row_output.h"
#include "spmm/tile_index.h"

namespace vostok {

template <class F>
__global__ void __launch_bounds__(threads(F::config)) staged_rows_sum(const __grid_constant__ StagedRowsArgs args) {
  constexpr auto config = F::config;
  const auto tile = TileIndex<F>::of_block(args.product);
  const unsigned row = tile.row_tile * config.rows + threadIdx.x / config.threads_per_row;
  if (!tile.exists(args.product, config.rows, args.product.m) || row >= args.product.m) return;
  const LaneColumns<F> columns{tile.first_column(threadIdx.x % config.threads_per_row), args.product.n};
  PieceSum<F> sum;
#pragma unroll 8
  for (unsigned slice = 0; slice < args.slices; ++slice) sum.add(PartialRows(args, tile.product, slice).row(row), columns);
  store_row(sum, args.product, operands_of<F>(args.product, tile.product), columns, row, true);
}

}  // namespace vostok
