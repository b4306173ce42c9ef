// The order of rows by length in one launch: every row is compared with every other one. For some thousand rows this is
// faster than a sort, whose passes are launches of their own, and needs no scratch memory.
#pragma once

#include "abi/fixed.h"
#include "parts/shared.h"
#include "parts/warp.h"
#include "topology/integer.h"

namespace vostok {

struct RowLengths {
  unsigned of_row[most_ranked_rows()];
};
static_assert(sizeof(RowLengths) <= rank_rows_shared_bytes());

/// How many of the lane's rows come before `row`.
__device__ inline unsigned rows_before(const RowLengths& lengths, unsigned rows, unsigned row, unsigned lane) {
  const unsigned own = lengths.of_row[row];
  unsigned before = 0;
  for (unsigned other = lane; other < rows; other += lanes_per_ranked_row()) {
    const unsigned length = lengths.of_row[other];
    before += length > own || (length == own && other < row) ? 1U : 0U;
  }
  return before;
}

template <class F>
__global__ void __launch_bounds__(F::config.threads) rank_rows(const __grid_constant__ RankRowsArgs args) {
  constexpr IntegerType offsets = offset_type(F::traits.wide_offsets);
  constexpr unsigned lanes = lanes_per_ranked_row();
  auto& lengths = dynamic_shared<RowLengths>();
  const auto rows = static_cast<unsigned>(args.rows);
  for (unsigned row = threadIdx.x; row < rows; row += F::config.threads)
    lengths.of_row[row] = static_cast<unsigned>(read_integer<offsets>(args.row_offsets, row + 1) -
                                                read_integer<offsets>(args.row_offsets, row));
  __syncthreads();

  const unsigned row = blockIdx.x * (F::config.threads / lanes) + threadIdx.x / lanes;
  const bool exists = row < rows;
  unsigned before = rows_before(lengths, rows, exists ? row : rows - 1, threadIdx.x % lanes);
#pragma unroll
  for (int distance = 1; distance < lanes_per_ranked_row(); distance *= 2) before += shuffle_xor(before, distance);
  if (exists && threadIdx.x % lanes == 0) args.order[before] = static_cast<int>(row);
}

}  // namespace vostok
