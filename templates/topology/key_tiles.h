// Tiles of the keys that blocks of queries name (abi/key_tiles.h), from CSR. A block of threads makes one block of
// queries, a window of columns at a time. Nothing depends on what runs first.
#pragma once

#include "abi/fixed.h"
#include "abi/key_tiles.h"
#include "parts/shared.h"
#include "topology/block_sum.h"
#include "topology/integer.h"

namespace vostok {

consteval int key_window_words() { return key_window() / 32; }

template <class F>
struct KeyStepShared {
  unsigned named[key_window_words()];   ///< a bit for each column of the window
  unsigned before[key_window_words()];  ///< keys of the block before each word
  BlockSum<unsigned, F::config.threads> sums;
};

/// The keys of one block of queries.
template <class F>
class BlockKeys {
  static constexpr IntegerType type = integer_type(F::traits.index);
  static constexpr int threads = F::config.threads;
  static constexpr int own_words = key_window_words() / threads;

 public:
  __device__ BlockKeys(const KeyStepArgs& args, long long block)
      : args_(args),
        first_row_(block * args.block_queries),
        end_row_(min(first_row_ + args.block_queries, args.rows)),
        shared_(dynamic_shared<KeyStepShared<F>>()) {}

  /// visit(first column) for each window of which a bit is set in shared memory, with the keys before each word;
  /// returns how many keys there are.
  template <class Visit>
  __device__ unsigned visit_windows(Visit visit) const {
    unsigned keys = 0;
    for (long long window = 0; window < args_.cols; window += key_window()) {
      mark(window);
      keys += number(keys);
      visit(window);
      __syncthreads();
    }
    return keys;
  }

  /// visit(column, its number among the block's keys) for each key of the window.
  template <class Visit>
  __device__ void visit_keys(long long window, Visit visit) const {
    for (int i = 0; i < own_words; ++i) {
      const int word = static_cast<int>(threadIdx.x) * own_words + i;
      unsigned number = shared_.before[word];
      for (unsigned left = shared_.named[word]; left != 0; left &= left - 1)
        visit(window + 32 * word + __ffs(static_cast<int>(left)) - 1, number++);
    }
  }

  /// visit(query in the block, number of the key) for each nonzero of the window.
  template <class Visit>
  __device__ void visit_entries(long long window, Visit visit) const {
    for (long long row = first_row_ + threadIdx.x / 32; row < end_row_; row += threads / 32)
      for (int i = args_.row_offsets[row] + static_cast<int>(threadIdx.x % 32); i < args_.row_offsets[row + 1];
           i += 32) {
        const long long column = read_integer<type>(args_.column_indices, i) - window;
        if (column < 0 || column >= key_window()) continue;
        const unsigned below = shared_.named[column / 32] & ((1U << column % 32) - 1);
        visit(static_cast<int>(row - first_row_), shared_.before[column / 32] + static_cast<unsigned>(__popc(below)));
      }
  }

 private:
  __device__ void mark(long long window) const {
    for (int word = static_cast<int>(threadIdx.x); word < key_window_words(); word += threads) shared_.named[word] = 0;
    __syncthreads();
    const int end = args_.row_offsets[end_row_];
    for (int i = args_.row_offsets[first_row_] + static_cast<int>(threadIdx.x); i < end; i += threads) {
      const long long column = read_integer<type>(args_.column_indices, i) - window;
      if (column >= 0 && column < key_window()) atomicOr(&shared_.named[column / 32], 1U << column % 32);
    }
    __syncthreads();
  }

  /// Numbers the window's keys from `first` on; returns how many they are.
  __device__ unsigned number(unsigned first) const {
    const int own = static_cast<int>(threadIdx.x) * own_words;
    unsigned count = 0;
    for (int i = 0; i < own_words; ++i) count += static_cast<unsigned>(__popc(shared_.named[own + i]));
    const SumBefore<unsigned> sum = block_sum(count, shared_.sums);
    unsigned before = first + sum.before;
    for (int i = 0; i < own_words; ++i) {
      shared_.before[own + i] = before;
      before += static_cast<unsigned>(__popc(shared_.named[own + i]));
    }
    __syncthreads();
    return sum.total;
  }

  const KeyStepArgs& args_;
  const long long first_row_;
  const long long end_row_;
  KeyStepShared<F>& shared_;
};

template <class F>
__global__ void __launch_bounds__(F::config.threads) count_key_tiles(const __grid_constant__ KeyStepArgs args) {
  static_assert(sizeof(KeyStepShared<F>) <= key_step_shared_bytes(), "the host gives less shared memory");
  for (long long block = blockIdx.x; block < args.block_count; block += gridDim.x) {
    const unsigned keys = BlockKeys<F>(args, block).visit_windows([](long long) {});
    if (threadIdx.x == 0) args.tile_counts[block] = (keys + tile_keys() - 1) / tile_keys();
  }
}

/// The word and the bit of a query's key, by its number among the block's.
__device__ inline void note_named(unsigned* bits, int block_queries, int query, unsigned number) {
  const unsigned key = number % tile_keys();
  const unsigned row = query % strip_queries();
  const unsigned lane = 4 * (row % 8) + key % 8 / 2;
  const unsigned bit = 4 * (key / 8) + 2 * (row / 8) + key % 2;
  unsigned* const words = bits + static_cast<long long>(number / tile_keys()) * tile_words(block_queries);
  atomicOr(words + query / strip_queries() * 32 + lane, 1U << bit);
}

/// After count_key_tiles and the sums of its counts.
template <class F>
__global__ void __launch_bounds__(F::config.threads) fill_key_tiles(const __grid_constant__ KeyStepArgs args) {
  for (long long block = blockIdx.x; block < args.block_count; block += gridDim.x) {
    const BlockKeys<F> of_block(args, block);
    const long long first = args.first_tiles[block];
    int* const keys = args.keys + first * tile_keys();
    unsigned* const bits = args.bits + first * tile_words(args.block_queries);
    const unsigned count = of_block.visit_windows([&](long long window) {
      of_block.visit_keys(window, [&](long long column, unsigned number) { keys[number] = static_cast<int>(column); });
      of_block.visit_entries(window,
                             [&](int query, unsigned number) { note_named(bits, args.block_queries, query, number); });
    });
    const long long end = (args.first_tiles[block + 1] - first) * tile_keys();
    for (long long place = count + threadIdx.x; place < end; place += F::config.threads) keys[place] = -1;
  }
}

/// Bits of a query in a tile.
__device__ inline int named_keys(const unsigned* words, int query) {
  const unsigned* const of_row = words + query / strip_queries() * 32 + query % 8 * 4;
  const unsigned mask = 0x33333333U << query % strip_queries() / 8 * 2;
  int keys = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) keys += __popc(of_row[i] & mask);
  return keys;
}

/// After fill_key_tiles: a thread walks the tiles of a query.
template <class F>
__global__ void __launch_bounds__(F::config.threads) start_key_tiles(const __grid_constant__ KeyStepArgs args) {
  for (long long block = blockIdx.x; block < args.block_count; block += gridDim.x)
    for (int query = static_cast<int>(threadIdx.x); query < args.block_queries; query += F::config.threads) {
      const long long row = block * args.block_queries + query;
      int place = args.row_offsets[min(row, args.rows)];
      for (long long tile = args.first_tiles[block]; tile < args.first_tiles[block + 1]; ++tile) {
        args.starts[tile * args.block_queries + query] = place;
        place += named_keys(args.bits + tile * tile_words(args.block_queries), query);
      }
    }
}

}  // namespace vostok
