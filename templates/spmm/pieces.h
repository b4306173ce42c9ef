// Pieces: f32 sums of parts of rows, in shared memory or in the workspace, and their sums.
#pragma once

#include "parts/loads.h"
#include "parts/vector.h"
#include "spmm/row_sum.h"

namespace vostok {

/// A lane's neighbouring columns of a piece.
template <class F>
using PiecePart = Vector<float, F::config.dense_vector>;

/// The columns of one block's tile.
template <class F>
struct SharedPiece {
  PiecePart<F> parts[F::config.tile_columns / F::config.dense_vector];

  __device__ PiecePart<F>& part(unsigned lane, int chunk) { return parts[chunk * F::config.threads_per_row + lane]; }
};

/// The sums of a lane's columns over pieces, added in the order of the calls.
template <class F>
class PieceSum {
  static constexpr int chunks = LaneColumns<F>::chunks;
  static constexpr int width = F::config.dense_vector;

 public:
  __device__ void add(SharedPiece<F>& piece, unsigned lane) {
#pragma unroll
    for (int c = 0; c < chunks; ++c) add_part(c, piece.part(lane, c));
  }

  /// `piece` holds every column.
  __device__ void add(const float* piece, const LaneColumns<F>& columns) {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
      if (columns.exists(c)) add_part(c, load_global(reinterpret_cast<const PiecePart<F>*>(piece + columns.column(c))));
  }

  __device__ float total(int chunk, int j) const { return sum_[chunk][j]; }

 private:
  __device__ void add_part(int chunk, const PiecePart<F>& part) {
#pragma unroll
    for (int j = 0; j < width; ++j) sum_[chunk][j] += part.at[j];
  }

  float sum_[chunks][width] = {};
};

/// A lane's part of a piece as sum.total(chunk, j) gives it.
template <class F, class Sum>
__device__ inline PiecePart<F> piece_part(const Sum& sum, int chunk) {
  PiecePart<F> part;
#pragma unroll
  for (int j = 0; j < F::config.dense_vector; ++j) part.at[j] = sum.total(chunk, j);
  return part;
}

template <class F, class Sum>
__device__ inline void store_piece(const Sum& sum, SharedPiece<F>& piece, unsigned lane) {
#pragma unroll
  for (int c = 0; c < LaneColumns<F>::chunks; ++c) piece.part(lane, c) = piece_part<F>(sum, c);
}

template <class F, class Sum>
__device__ inline void store_piece(const Sum& sum, float* piece, const LaneColumns<F>& columns) {
#pragma unroll
  for (int c = 0; c < LaneColumns<F>::chunks; ++c)
    if (columns.exists(c))
      store_global<false>(reinterpret_cast<PiecePart<F>*>(piece + columns.column(c)), piece_part<F>(sum, c));
}

}  // namespace vostok
