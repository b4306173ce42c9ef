// The sums of a row's pieces, which neighbouring rows of a block made: added up in order, so that the same bits come
// out every time.
#pragma once

#include "abi/row_tile.h"
#include "parts/vector.h"
#include "spmm/row_sum.h"

namespace vostok {

/// What a lane holds of a row, each total the same in every subwarp of the row.
template <class F>
class RowTotals {
  static constexpr auto config = F::config;
  static constexpr int chunks = LaneColumns<F>::chunks;
  static constexpr int width = config.dense_vector;
  static constexpr int word = width < 4 ? width : 4;
  using Word = Vector<float, word>;

 public:
  using Shared = float[config.tile_columns];

  __device__ explicit RowTotals(const RowSum<F>& sum) {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int j = 0; j < width; ++j) totals_[c][j] = sum.total(c, j);
  }

  __device__ float total(int chunk, int j) const { return totals_[chunk][j]; }

  /// Adds the other pieces to the first one, whose lanes are told true. All threads of the block call it; the pieces of
  /// a row are an aligned group of the block's rows.
  __device__ bool gather(Shared* rows, unsigned row_in_block, unsigned lane, unsigned pieces) {
    const unsigned piece = row_in_block % pieces;
    const bool writes = lane < config.threads_per_row;
    if (piece > 0 && writes) exchange(rows[row_in_block], lane, [](Word& shared, const Word& own) { shared = own; });
    __syncthreads();
    if (piece > 0) return false;
    if (writes)
      for (unsigned other = 1; other < pieces; ++other)
        exchange(rows[row_in_block + other], lane, [](const Word& shared, Word& own) {
#pragma unroll
          for (int j = 0; j < word; ++j) own.at[j] += shared.at[j];
        });
    return true;
  }

 private:
  template <class Move>
  __device__ void exchange(Shared& row, unsigned lane, Move move) {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int j = 0; j < width; j += word)
        move(*reinterpret_cast<Word*>(&row[(c * config.threads_per_row + lane) * width + j]),
             *reinterpret_cast<Word*>(&totals_[c][j]));
  }

  alignas(16) float totals_[chunks][width];
};

}  // namespace vostok
