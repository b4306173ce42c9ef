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
  static constexpr int parts = F::traits.parts;
  unsigned named[parts][key_window_words()];                ///< a bit for each column of the window
  unsigned before[key_classes(parts)][key_window_words()];  ///< keys of the class before each word
  BlockSum<unsigned, F::config.threads> sums;
};

/// The keys of one block of queries.
template <class F>
class BlockKeys {
  static constexpr IntegerType type = integer_type(F::traits.index);
  static constexpr int threads = F::config.threads;
  static constexpr int own_words = key_window_words() / threads;
  static constexpr int parts = F::traits.parts;
  static constexpr int classes = key_classes(parts);

 public:
  __device__ BlockKeys(const KeyStepArgs& args, long long block)
      : args_(args),
        first_row_(block * args.block_queries),
        end_row_(min(first_row_ + args.block_queries, args.rows)),
        shared_(dynamic_shared<KeyStepShared<F>>()) {}

  /// visit(first column) for each window of which bits are set in shared memory, with the keys before each word;
  /// returns how many keys there are of each class.
  template <class Visit>
  __device__ ClassedKeys visit_windows(Visit visit) const {
    ClassedKeys keys = {};
    for (long long window = 0; window < args_.cols; window += key_window()) {
      mark(window);
#pragma unroll
      for (int at = 0; at < classes; ++at) keys.counts[at] += number(at, keys.counts[at]);
      visit(window);
      __syncthreads();
    }
    return keys;
  }

  /// visit(column, class, its number among the block's keys of the class) for each key of the window.
  template <class Visit>
  __device__ void visit_keys(long long window, Visit visit) const {
    for (int i = 0; i < own_words; ++i) {
      const int word = static_cast<int>(threadIdx.x) * own_words + i;
#pragma unroll
      for (int at = 0; at < classes; ++at) {
        unsigned number = shared_.before[at][word];
        for (unsigned left = of_class(at, word); left != 0; left &= left - 1)
          visit(window + 32 * word + __ffs(static_cast<int>(left)) - 1, at, number++);
      }
    }
  }

  /// visit(query in the block, class, number of the key) for each nonzero of the window.
  template <class Visit>
  __device__ void visit_entries(long long window, Visit visit) const {
    for (long long row = first_row_ + threadIdx.x / 32; row < end_row_; row += threads / 32)
      for (int i = args_.row_offsets[row] + static_cast<int>(threadIdx.x % 32); i < args_.row_offsets[row + 1];
           i += 32) {
        const long long column = read_integer<type>(args_.column_indices, i) - window;
        if (column < 0 || column >= key_window()) continue;
        const int word = static_cast<int>(column / 32);
        const int at = class_of(word, static_cast<unsigned>(column % 32));
        const unsigned below = of_class(at, word) & ((1U << column % 32) - 1);
        visit(static_cast<int>(row - first_row_), at,
              shared_.before[at][word] + static_cast<unsigned>(__popc(static_cast<int>(below))));
      }
  }

 private:
  __device__ void mark(long long window) const {
    for (int word = static_cast<int>(threadIdx.x); word < key_window_words(); word += threads)
#pragma unroll
      for (int part = 0; part < parts; ++part) shared_.named[part][word] = 0;
    __syncthreads();
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      const int end = args_.row_offsets[row_of(part + 1)];
      for (int i = args_.row_offsets[row_of(part)] + static_cast<int>(threadIdx.x); i < end; i += threads) {
        const long long column = read_integer<type>(args_.column_indices, i) - window;
        if (column >= 0 && column < key_window()) atomicOr(&shared_.named[part][column / 32], 1U << column % 32);
      }
    }
    __syncthreads();
  }
  /// The first row of a part.
  __device__ long long row_of(int part) const {
    return min(first_row_ + static_cast<long long>(part) * (args_.block_queries / parts), end_row_);
  }

  /// A word's keys of class at + 1.
  __device__ unsigned of_class(int at, int word) const {
    unsigned keys = 0xffffffffU;
#pragma unroll
    for (int part = 0; part < parts; ++part) {
      const unsigned named = shared_.named[part][word];
      keys &= (at + 1) >> part & 1 ? named : ~named;
    }
    return keys;
  }
  /// The class of a key that is named, less one.
  __device__ int class_of(int word, unsigned bit) const {
    int parts_that_name = 0;
#pragma unroll
    for (int part = 0; part < parts; ++part)
      parts_that_name |= static_cast<int>(shared_.named[part][word] >> bit & 1) << part;
    return parts_that_name - 1;
  }

  /// Numbers the window's keys of a class from `first` on; returns how many they are.
  __device__ unsigned number(int at, unsigned first) const {
    const int own = static_cast<int>(threadIdx.x) * own_words;
    unsigned count = 0;
    for (int i = 0; i < own_words; ++i) count += static_cast<unsigned>(__popc(static_cast<int>(of_class(at, own + i))));
    const SumBefore<unsigned> sum = block_sum(count, shared_.sums);
    unsigned before = first + sum.before;
    for (int i = 0; i < own_words; ++i) {
      shared_.before[at][own + i] = before;
      before += static_cast<unsigned>(__popc(static_cast<int>(of_class(at, own + i))));
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
  constexpr int classes = key_classes(F::traits.parts);
  static_assert(sizeof(KeyStepShared<F>) <= key_step_shared_bytes(F::traits.parts), "the host gives less memory");
  for (long long block = blockIdx.x; block < args.block_count; block += gridDim.x) {
    const ClassedKeys keys = BlockKeys<F>(args, block).visit_windows([](long long) {});
    if (threadIdx.x != 0) continue;
    args.tile_counts[block] = keys.all_tiles();
    for (int at = 0; at < classes; ++at) args.class_keys[block * classes + at] = keys.counts[at];
  }
}

/// The word and the bit of a query's key, by its place in the tile of those words.
__device__ inline void note_named(unsigned* words, int query, unsigned key) {
  const unsigned row = query % strip_queries();
  const unsigned lane = 4 * (row % 8) + key % 8 / 2;
  const unsigned bit = 4 * (key / 8) + 2 * (row / 8) + key % 2;
  atomicOr(words + query / strip_queries() * 32 + lane, 1U << bit);
}

/// A block's places of keys.
template <class F>
class KeyPlaces {
  static constexpr int classes = key_classes(F::traits.parts);

 public:
  __device__ KeyPlaces(const KeyStepArgs& args, long long block) : first_(args.first_tiles[block]) {
#pragma unroll
    for (int at = 0; at < classes; ++at) keys_.counts[at] = args.class_keys[block * classes + at];
  }

  /// The tile of a class, among all blocks'.
  __device__ long long tile(int at, unsigned number) const {
    if constexpr (classes == 1) return first_ + number;
    else return first_ + keys_.place(F::traits.parts, at, number);
  }

  /// Behind the last key of each class, and which parts take the tiles.
  __device__ void finish(const KeyStepArgs& args) const {
#pragma unroll
    for (int at = 0; at < classes; ++at) {
      const unsigned tiles = keys_.tiles(at), end = tiles * tile_keys();
      for (unsigned i = keys_.counts[at] + threadIdx.x; i < end; i += F::config.threads)
        args.keys[tile(at, i / tile_keys()) * tile_keys() + i % tile_keys()] = -1;
      if constexpr (classes > 1)
        for (unsigned i = threadIdx.x; i < tiles; i += F::config.threads) take(args, at, tile(at, i));
    }
  }

 private:
  __device__ void take(const KeyStepArgs& args, int at, long long tile) const {
#pragma unroll
    for (int part = 0; part < F::traits.parts; ++part)
      if (((at + 1) >> part & 1) != 0)
        atomicOr(args.taken + part * taken_words(args.tile_count) + tile / 32, 1U << tile % 32);
  }

  const long long first_;
  ClassedKeys keys_ = {};
};

/// After count_key_tiles and the sums of its counts.
template <class F>
__global__ void __launch_bounds__(F::config.threads) fill_key_tiles(const __grid_constant__ KeyStepArgs args) {
  for (long long block = blockIdx.x; block < args.block_count; block += gridDim.x) {
    const BlockKeys<F> of_block(args, block);
    const KeyPlaces<F> places(args, block);
    of_block.visit_windows([&](long long window) {
      of_block.visit_keys(window, [&](long long column, int at, unsigned number) {
        args.keys[places.tile(at, number / tile_keys()) * tile_keys() + number % tile_keys()] =
            static_cast<int>(column);
      });
      of_block.visit_entries(window, [&](int query, int at, unsigned number) {
        unsigned* const words = args.bits + places.tile(at, number / tile_keys()) * tile_words(args.block_queries);
        note_named(words, query, number % tile_keys());
      });
    });
    places.finish(args);
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
