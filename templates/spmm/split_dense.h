// B for the tensor cores: every element as one or two 16-bit numbers, in tiles that lie as shared memory takes them
// (abi/split_dense.h).
//
// A block makes one tile, or those of the k blocks that share scales, or half of their columns. Their elements stay in
// registers between finding their columns' maxima and splitting them: B is read once, and nothing is launched before.
// Threads take pieces of four neighbouring elements of a line of B.
#pragma once

#include "abi/fixed.h"
#include "abi/split_dense.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/shared.h"
#include "parts/split_number.h"
#include "parts/warp.h"

namespace vostok {

consteval int split_piece() { return 4; }  ///< elements

template <class F>
struct SplitDenseShared {
  static constexpr bool transposes = F::traits.layout == Layout::column_major;
  alignas(16) unsigned char tiles[transposes ? F::config.scale_blocks *
                                                   split_tile_bytes(F::traits.mode, F::config.tile_columns)
                                             : 16];
  static constexpr int columns = F::config.block_columns;
  unsigned maxima[columns * (F::traits.marked ? 2 : 1)];  ///< bits of magnitudes, which order as the numbers do; then
                                                          ///< counts of elements

  /// Elements of a column that lose more than their rounding.
  __device__ unsigned& lossy(unsigned column) { return maxima[columns + column]; }
};

/// Which of the block's elements a thread has: pieces 0 to count - 1, in as many columns for all of them; k counts from
/// the first tile's first. Row-major: neighbouring lanes have neighbouring pieces of a row. Column-major: eight
/// neighbouring lanes have pairs of columns, and the four groups of eight neighbouring pieces of them, so that reads
/// take 64 bytes in a row and writes of two columns 32.
template <class F>
struct SplitShare {
  static constexpr bool row_major = F::traits.layout == Layout::row_major;
  static constexpr int columns = F::config.block_columns;
  static constexpr int lines = F::config.scale_blocks * packed_strip_columns();
  static constexpr int count = lines * columns / split_piece() / F::config.threads;
  static constexpr int tile_bytes = split_tile_bytes(F::traits.mode, F::config.tile_columns);
  static constexpr int own_columns = row_major ? split_piece() : 2;
  static constexpr int pieces_across = columns / split_piece();  ///< of a row
  static constexpr int column_blocks = columns / 16;             ///< that warps take

  static __device__ int first_column() {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (row_major) return thread % pieces_across * split_piece();
    else return thread / 32 % column_blocks * 16 + thread % 8 * 2;
  }
  static __device__ int column(int piece) { return first_column() + (row_major ? 0 : piece % 2); }
  static __device__ int k(int piece) {
    const int thread = static_cast<int>(threadIdx.x);
    if constexpr (row_major) return (thread + piece * F::config.threads) / pieces_across;
    else
      return ((thread / 32 + piece / 2 * (F::config.threads / 32)) / column_blocks * 4 + thread % 32 / 8) *
             split_piece();
  }
  /// The own column of a piece's element j.
  static constexpr int own_column(int piece, int j) { return row_major ? j : piece % 2; }

  /// The block's first column in its tiles.
  static __device__ int first_of_block() {
    if constexpr (blocks_across(F::config) == 1) return 0;
    else return static_cast<int>(blockIdx.x % blocks_across(F::config)) * columns;
  }

  /// Where the high and the low part of an element lie in the tiles.
  static __device__ int high_place(int k, int column) {
    return k / packed_strip_columns() * tile_bytes + split_offset(k % packed_strip_columns(), column);
  }
  static __device__ int low_place(int k, int column) {
    return k / packed_strip_columns() * tile_bytes +
           split_low_offset(F::config.tile_columns, k % packed_strip_columns(), column);
  }

  /// The largest among the lanes that have the same columns.
  static __device__ unsigned largest(unsigned value) { return warp_maximum<row_major ? pieces_across : 8>(value); }
  /// Whether this lane speaks for them.
  static __device__ bool speaks() { return threadIdx.x % 32 < (row_major ? pieces_across : 8); }
};

/// Loads the pieces, zeros where the matrix ends.
template <class F>
__device__ inline void load_pieces(float (&values)[SplitShare<F>::count][split_piece()], const SplitDenseArgs& args,
                                   unsigned product, long long first_k, long long first_column) {
  using Share = SplitShare<F>;
  using Type = Element<F::traits.element>;
  using Stored = typename Type::Storage;
  using Piece = Vector<Stored, split_piece()>;
  const Stored* dense = static_cast<const Stored*>(args.dense);
  if constexpr (F::traits.batched) dense += product * args.stride;
#pragma unroll
  for (int i = 0; i < Share::count; ++i) {
    const long long k = first_k + Share::k(i);
    const long long column = first_column + Share::column(i);
    const long long line = Share::row_major ? k : column;
    const long long first = Share::row_major ? column : k;
    const long long length = Share::row_major ? args.n : args.k;
    const bool line_exists = line < (Share::row_major ? args.k : args.n);
    const Stored* from = dense + line * args.leading + first;
    if (F::traits.alignment >= static_cast<int>(sizeof(Piece)) && line_exists && first + split_piece() <= length) {
      const Piece piece = load_global(reinterpret_cast<const Piece*>(from));
#pragma unroll
      for (int j = 0; j < split_piece(); ++j) values[i][j] = Type::to_float(piece.at[j]);
    } else {
#pragma unroll
      for (int j = 0; j < split_piece(); ++j)
        values[i][j] = line_exists && first + j < length ? Type::to_float(load_global(from + j)) : 0.0F;
    }
  }
}

/// The scale of each own column.
template <class F>
__device__ inline void find_scales(float (&scales)[SplitShare<F>::own_columns],
                                   const float (&values)[SplitShare<F>::count][split_piece()],
                                   SplitDenseShared<F>& shared) {
  using Share = SplitShare<F>;
  for (unsigned i = threadIdx.x; i < Share::columns; i += F::config.threads) {
    shared.maxima[i] = 0;
    if constexpr (F::traits.marked) shared.lossy(i) = 0;
  }
  unsigned maxima[Share::own_columns] = {};
#pragma unroll
  for (int i = 0; i < Share::count; ++i)
#pragma unroll
    for (int j = 0; j < split_piece(); ++j) {
      const unsigned magnitude = __builtin_bit_cast(unsigned, values[i][j]) & 0x7fffffffU;
      unsigned& largest = maxima[Share::own_column(i, j)];
      if (magnitude < 0x7f800000U && magnitude > largest) largest = magnitude;
    }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Share::own_columns; ++i) {
    const unsigned largest = Share::largest(maxima[i]);
    if (Share::speaks()) atomicMax(&shared.maxima[Share::first_column() + i], largest);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Share::own_columns; ++i)
    scales[i] =
        __builtin_bit_cast(float, packed_power_bits(packed_scale_exponent(shared.maxima[Share::first_column() + i])));
}

/// Counts what columns lose of their scaled elements.
template <class F>
__device__ inline void find_losses(const float (&values)[SplitShare<F>::count][split_piece()],
                                   SplitDenseShared<F>& shared) {
  using Share = SplitShare<F>;
  const bool maybe = any_may_lose<F::traits.mode>([&](auto use) {
#pragma unroll
    for (int i = 0; i < Share::count; ++i)
#pragma unroll
      for (const float value : values[i]) use(value);
  });
  if (maybe) {
#pragma unroll
    for (int i = 0; i < Share::count; ++i)
#pragma unroll
      for (int j = 0; j < split_piece(); ++j)
        if (loses<F::traits.mode>(values[i][j]))
          atomicAdd(&shared.lossy(static_cast<unsigned>(Share::first_column() + Share::own_column(i, j))), 1U);
  }
  __syncthreads();
}

/// Writes the columns' inverse scales for `tiles` k blocks, `step` apart.
template <class F>
__device__ inline void store_inverses(SplitDenseShared<F>& shared, float* inverses, unsigned tiles, long long step) {
  for (unsigned i = threadIdx.x; i < SplitShare<F>::columns; i += F::config.threads) {
    unsigned lossy = 0;
    if constexpr (F::traits.marked) lossy = shared.lossy(i);
    const unsigned bits = inverse_scale_bits(shared.maxima[i], F::traits.marked);
    const float inverse = __builtin_bit_cast(float, marked_scale_bits(bits, lossy));
    for (unsigned tile = 0; tile < tiles; ++tile) inverses[tile * step + i] = inverse;
  }
}

/// Writes the four columns of each piece of a row, of the first `tiles` tiles.
template <class F>
__device__ inline void store_rows(unsigned char* first_tile,
                                  const SplitParts (&parts)[SplitShare<F>::count][split_piece()], unsigned tiles) {
  using Share = SplitShare<F>;
  using Stored = Vector<unsigned short, split_piece()>;
#pragma unroll
  for (int i = 0; i < Share::count; ++i) {
    Stored high;
    Stored low;
#pragma unroll
    for (int j = 0; j < split_piece(); ++j) {
      high.at[j] = parts[i][j].high;
      low.at[j] = parts[i][j].low;
    }
    const int k = Share::k(i);
    const int column = Share::first_of_block() + Share::first_column();
    if (F::config.scale_blocks > 1 && k >= static_cast<int>(tiles) * packed_strip_columns()) continue;
    store_global<false>(reinterpret_cast<Stored*>(first_tile + Share::high_place(k, column)), high);
    if constexpr (packed_pair_words(F::traits.mode) == 2)
      store_global<false>(reinterpret_cast<Stored*>(first_tile + Share::low_place(k, column)), low);
  }
}

/// Writes both columns of each k of pieces of columns, by way of shared memory: the first `tiles` tiles.
template <class F>
__device__ inline void store_columns(unsigned char* first_tile,
                                     const SplitParts (&parts)[SplitShare<F>::count][split_piece()], unsigned tiles,
                                     SplitDenseShared<F>& shared) {
  using Share = SplitShare<F>;
  const auto both = [](unsigned short first, unsigned short second) {
    return first | static_cast<unsigned>(second) << 16;
  };
#pragma unroll
  for (int i = 0; i < Share::count; i += 2)
#pragma unroll
    for (int j = 0; j < split_piece(); ++j) {
      const SplitParts& first = parts[i][j];
      const SplitParts& second = parts[i + 1][j];
      const int k = Share::k(i) + j;
      const int column = Share::first_column();
      *reinterpret_cast<unsigned*>(shared.tiles + Share::high_place(k, column)) = both(first.high, second.high);
      if constexpr (packed_pair_words(F::traits.mode) == 2)
        *reinterpret_cast<unsigned*>(shared.tiles + Share::low_place(k, column)) = both(first.low, second.low);
    }
  __syncthreads();
  using Chunk = Vector<unsigned, 4>;
  const unsigned chunks = tiles * (Share::tile_bytes / static_cast<unsigned>(sizeof(Chunk)));
  for (unsigned i = threadIdx.x; i < chunks; i += F::config.threads)
    store_global<false>(reinterpret_cast<Chunk*>(first_tile) + i, reinterpret_cast<const Chunk*>(shared.tiles)[i]);
}

/// Blocks of a multiprocessor that registers must allow: where a launch has many, three quarters of its threads, since
/// they wait for memory.
template <class F>
constexpr int split_dense_blocks() {
  constexpr int most_threads = 1536;
  return blocks_across(F::config) > 1 ? most_threads / F::config.threads : 1;
}

/// Tiles of one k block lie side by side on the grid's x, k blocks (those that share scales together) and products on
/// y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads, split_dense_blocks<F>())
    split_dense(const __grid_constant__ SplitDenseArgs args) {
  using Share = SplitShare<F>;
  constexpr auto traits = F::traits;
  constexpr auto config = F::config;
  static_assert(config.tile_columns == 64 || (config.tile_columns == 32 && packed_pair_words(traits.mode) == 2),
                "tile_columns is 64, or 32 where elements have two parts");
  static_assert(config.threads % 128 == 0 && Share::count >= 2 && Share::count % 2 == 0 && Share::count <= 16,
                "a block has a multiple of 128 threads, each with 2 to 16 pieces of the tile");
  static_assert(config.block_columns == config.tile_columns ||
                    (Share::row_major && config.block_columns == 32 && config.tile_columns == 64),
                "a block makes all columns of a tile, or 32 of 64 where lines of B are rows");
  static_assert(config.scale_blocks >= 1, "k blocks share scales with none, or with others");
  static_assert(!traits.marked || packed_scales_rows(traits.mode), "what is not scaled has no inverse scales to mark");
  static_assert(sizeof(SplitDenseShared<F>) == shared_bytes(traits, config), "shared_bytes differs from the layout");
  follow_previous_launch();
  const unsigned row = blockIdx.z * gridDim.y + blockIdx.y;
  const unsigned rows = (args.k_blocks + config.scale_blocks - 1) / config.scale_blocks;
  if (row >= rows * args.batch) return;
  const unsigned product = traits.batched ? row / rows : 0;
  const unsigned k_block = (row - product * rows) * config.scale_blocks;
  const unsigned left = args.k_blocks - k_block;
  const unsigned tiles = left < config.scale_blocks ? left : config.scale_blocks;
  const unsigned column_tile = blockIdx.x / blocks_across(config);
  const int first_of_block = Share::first_of_block();

  float values[Share::count][split_piece()];
  load_pieces<F>(values, args, product, static_cast<long long>(k_block) * packed_strip_columns(),
                 static_cast<long long>(column_tile) * config.tile_columns + first_of_block);
  auto& shared = dynamic_shared<SplitDenseShared<F>>();
  if constexpr (packed_scales_rows(traits.mode)) {
    float scales[Share::own_columns];
    const long long line = static_cast<long long>(args.column_tiles) * config.tile_columns;
    float* const inverses = args.column_scales + (static_cast<long long>(product) * args.k_blocks + k_block) * line +
                            column_tile * config.tile_columns + first_of_block;
    find_scales<F>(scales, values, shared);
#pragma unroll
    for (int i = 0; i < Share::count; ++i)
#pragma unroll
      for (int j = 0; j < split_piece(); ++j) values[i][j] *= scales[Share::own_column(i, j)];
    if constexpr (traits.marked) find_losses<F>(values, shared);
    store_inverses<F>(shared, inverses, tiles, line);
  }

  SplitParts parts[Share::count][split_piece()];
#pragma unroll
  for (int i = 0; i < Share::count; ++i)
#pragma unroll
    for (int j = 0; j < split_piece(); ++j) parts[i][j] = split_number<traits.mode>(values[i][j]);
  const long long number =
      (static_cast<long long>(product) * args.column_tiles + column_tile) * args.k_blocks + k_block;
  unsigned char* first_tile = args.tiles + number * Share::tile_bytes;
  if constexpr (Share::row_major) store_rows<F>(first_tile, parts, tiles);
  else store_columns<F>(first_tile, parts, tiles, shared);
}

}  // namespace vostok
