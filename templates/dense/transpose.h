// destination[j, i] = source[i, j] for each matrix of a batch, through a tile in shared memory: both sides are read and
// written along their rows.
#pragma once

#include "abi/dense_transpose.h"
#include "abi/fixed.h"
#include "dense/transpose_chunks.h"
#include "parts/dependent_launch.h"
#include "parts/loads.h"
#include "parts/shared.h"

namespace vostok {

template <class F>
struct TransposeTile {
  static_assert(F::traits.element_bytes == 2 || F::traits.element_bytes == 4, "elements have 2 or 4 bytes");
  static_assert(F::config.tile > 0 && F::config.tile % 32 == 0, "tile is a multiple of 32");
  static_assert(F::config.threads % 32 == 0 && F::config.threads <= 1024,
                "a block has whole warps and at most 1024 threads");
  using Bits = typename detail::BitsOf<F::traits.element_bytes>::Type;
  static constexpr int padding = 4 / F::traits.element_bytes;
  Bits at[F::config.tile][F::config.tile + padding];
};

/// Calls visit(row, column) for the tile's elements below `rows` and `columns`; neighbouring lanes get neighbouring
/// columns.
template <class F, class Visit>
__device__ inline void visit_tile(long long rows, long long columns, Visit visit) {
  constexpr int tile = F::config.tile;
  constexpr int warps = F::config.threads / 32;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int row = static_cast<int>(threadIdx.x / 32); row < tile && row < rows; row += warps)
#pragma unroll
    for (int column = lane; column < tile; column += 32)
      if (column < columns) visit(row, column);
}

template <class F>
struct ChunkedTile {
  alignas(16) unsigned char bytes[F::config.tile * F::config.tile * F::traits.element_bytes];
};

/// A whole tile 16 bytes at a time.
template <class F>
__device__ inline void transpose_chunks(const DenseTransposeArgs& args, long long matrix, long long first_row,
                                        long long first_column) {
  using Stored = unsigned short;
  unsigned char* const shared = dynamic_shared<ChunkedTile<F>>().bytes;
  const auto* const source = static_cast<const Stored*>(args.source) + matrix * args.source_stride +
                             first_row * args.source_leading + first_column;
  auto* const destination = static_cast<Stored*>(args.destination) + matrix * args.destination_stride +
                            first_column * args.destination_leading + first_row;
  TransposeChunks<F>(source, args.source_leading).lay(shared);
  __syncthreads();
  TransposeChunks<F>::store(shared, destination, args.destination_leading);
  __syncthreads();
}

template <class F>
__device__ inline void transpose_tile(const DenseTransposeArgs& args, long long matrix, long long first_row,
                                      long long first_column) {
  using Tile = TransposeTile<F>;
  using Bits = typename Tile::Bits;
  static_assert(sizeof(Tile) == shared_bytes(F::traits, F::config), "shared_bytes differs from the layout");
  Tile& tile = dynamic_shared<Tile>();
  const auto* source = static_cast<const Bits*>(args.source) + matrix * args.source_stride +
                       first_row * args.source_leading + first_column;
  auto* destination = static_cast<Bits*>(args.destination) + matrix * args.destination_stride +
                      first_column * args.destination_leading + first_row;
  const long long rows = args.rows - first_row;
  const long long columns = args.columns - first_column;
  visit_tile<F>(rows, columns, [&](int row, int column) {
    tile.at[row][column] = load_global(source + row * args.source_leading + column);
  });
  __syncthreads();
  visit_tile<F>(columns, rows, [&](int row, int column) {
    destination[row * args.destination_leading + column] = tile.at[column][row];
  });
  __syncthreads();
}

/// By the way that the tile allows.
template <class F>
__device__ inline void transpose_at(const DenseTransposeArgs& args, long long matrix, long long first_row,
                                    long long first_column) {
  if constexpr (F::traits.chunks) {
    constexpr int tile = F::config.tile;
    if (args.rows - first_row >= tile && args.columns - first_column >= tile) [[likely]]
      return transpose_chunks<F>(args, matrix, first_row, first_column);
  }
  transpose_tile<F>(args, matrix, first_row, first_column);
}

/// Blocks of a multiprocessor that registers must allow: with chunks as many as its threads do, since they wait for
/// memory.
template <class F>
constexpr int resident_blocks() {
  return F::traits.chunks ? 2048 / F::config.threads : 1;
}

/// Tiles lie on the grid's x, from one to the next along a row; blocks go on to further tiles where the grid has fewer
/// of them. Matrices lie on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads, resident_blocks<F>())
    dense_transpose(const __grid_constant__ DenseTransposeArgs args) {
  constexpr int tile = F::config.tile;
  const long long matrix = static_cast<long long>(blockIdx.z) * gridDim.y + blockIdx.y;
  if (matrix >= args.batch || args.columns == 0) return;
  follow_previous_launch();
  // A division of 32 bits takes a tenth of one of 64.
  const auto tiles_across = static_cast<unsigned>((args.columns + tile - 1) / tile);
  const auto tiles_down = static_cast<unsigned>((args.rows + tile - 1) / tile);
  unsigned row = blockIdx.x / tiles_across, column = blockIdx.x % tiles_across;
  while (row < tiles_down) {
    const long long first_row = static_cast<long long>(row) * tile;
    const long long first_column = static_cast<long long>(column) * tile;
    transpose_at<F>(args, matrix, first_row, first_column);
    row += gridDim.x / tiles_across;
    column += gridDim.x % tiles_across;
    if (column < tiles_across) continue;
    column -= tiles_across;
    ++row;
  }
}

}  // namespace vostok
