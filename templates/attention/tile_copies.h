// Queries, keys and values on their way to shared memory: each line is gathered from where it lies, 16 bytes a copy,
// eight threads a line. Threads look up the lines of the next tile, or of the one behind it, while copies of this one
// are on their way.
//
// Where a chunk of eight elements lies in shared memory the instruction tells that multiplies: `Places` has
// query(chunk's line, chunk), key(...) and value(...), bytes from the beginning of the queries or of a stage; and of
// terms key_exponent(line) and value_exponent(line).
#pragma once

#include "abi/fused_attention.h"
#include "attention/seen_lines.h"
#include "parts/async_copy.h"
#include "parts/loads.h"
#include "parts/ring_place.h"

namespace vostok {

/// Elements of a line as it is copied.
template <class F>
consteval int key_elements() {
  return F::traits.terms > 0 ? F::traits.terms * F::traits.key_size : F::traits.key_size;
}
template <class F>
consteval int value_elements() {
  if constexpr (F::traits.terms > 0) return F::traits.terms * value_part(F::traits, F::config);
  else return F::traits.value_size;
}

/// A thread's chunks of a line [size] of an operand, from the first one on. Behind the operand's own size, and where
/// the line is not `there`, are zeros. place(chunks behind the first) is where a chunk goes.
template <class F, int size, class Place>
__device__ inline void copy_line(const unsigned char* from, int own_size, bool there, Place place) {
  constexpr int chunks = size / 8;
  const int own = static_cast<int>(threadIdx.x % 8);
#pragma unroll
  for (int c = 0; c < chunks; c += 8) {
    if (chunks % 8 != 0 && c + own >= chunks) continue;
    if constexpr (F::traits.whole || F::traits.terms > 0) {
      copy_async_if(there, place(c), from + 16 * c);
    } else {
      const int bytes = there ? min(max(2 * (own_size - 8 * (c + own)), 0), 16) : 0;
      copy_async<16>(place(c), bytes > 0 ? from + 16 * c : from - 16 * own, bytes);
    }
  }
}

/// An operand [heads, rows, size], by elements between them.
struct LinesOfHeads {
  const void* operand;
  long long leading;
  long long stride;

  /// A thread's first chunk of a line.
  __device__ const unsigned char* chunk(long long head, long long line) const {
    return static_cast<const unsigned char*>(operand) + 2 * (head * stride + line * leading) + 16 * (threadIdx.x % 8);
  }
};

/// A block's own lines of an operand, by `threads` of its threads. place(line, chunk) is where a chunk goes.
template <class F, int size, int threads, class Place>
__device__ inline void copy_own_lines(const LinesOfHeads& lines, int own_size, long long head, long long first_row,
                                      long long rows, unsigned thread, Place place) {
#pragma unroll 1
  for (int line = static_cast<int>(thread / 8); line < block_queries(F::config); line += threads / 8) {
    const bool there = first_row + line < rows;
    copy_line<F, size>(lines.chunk(head, there ? first_row + line : 0), own_size, there,
                       [&](int chunk) { return place(line, chunk + static_cast<int>(threadIdx.x % 8)); });
  }
}

/// Whether chunks that are multiples of 8 apart, and lines that are multiples of `lines` apart, are as far apart
/// wherever they lie. Where a line's second term begins in the middle of eight chunks they are not.
template <int size, int lines, class Place>
consteval bool places_are_even(Place place) {
  for (int line = 0; line < 8; ++line)
    for (int own = 0; own < 8; ++own)
      for (int chunk = 0; chunk + own < size / 8; chunk += 8)
        for (int more = 0; more < tile_keys(); more += lines)
          if (place(line + more, own + chunk) - place(line, own) != place(more, chunk) - place(0, 0)) return false;
  return true;
}

/// Terms of lines of so many elements, `rows` of each head.
__device__ inline LinesOfHeads lines_of_terms(const TermLines& lines, int elements, long long rows) {
  return {lines.terms, elements, rows * elements};
}
template <class F>
__device__ inline LinesOfHeads key_lines(const FusedAttentionArgs& args) {
  if constexpr (F::traits.terms > 0) return lines_of_terms(args.terms.key, key_elements<F>(), args.keys);
  else return {args.key, args.key_leading, args.key_stride};
}
template <class F>
__device__ inline LinesOfHeads value_lines(const FusedAttentionArgs& args) {
  if constexpr (F::traits.terms > 0) return lines_of_terms(args.terms.value, value_elements<F>(), args.keys);
  else return {args.value, args.value_leading, args.value_stride};
}

/// The queries of a block.
template <class F, class Places, int threads>
__device__ inline void copy_queries(const FusedAttentionArgs& args, long long head, long long first_row,
                                    SharedAddress to, unsigned thread) {
  LinesOfHeads lines = {args.query, args.query_leading, args.query_stride};
  if constexpr (F::traits.terms > 0) lines = lines_of_terms(args.terms.query, key_elements<F>(), args.rows);
  copy_own_lines<F, key_elements<F>(), threads>(lines, args.key_size, head, first_row, args.rows, thread,
                                                [&](int line, int chunk) { return to + Places::query(line, chunk); });
}

/// The exponents of a key's and its value's terms, by the first two of the threads that copy the line.
template <class F, class Places>
__device__ inline void copy_exponents(const FusedAttentionArgs& args, long long head, long long key, bool there,
                                      SharedAddress stage, int line) {
  const unsigned own = threadIdx.x % 8;
  if (own >= 2) return;
  const int* const exponents = own == 0 ? args.terms.key.exponents : args.terms.value.exponents;
  const SharedAddress to = stage + (own == 0 ? Places::key_exponent(line) : Places::value_exponent(line));
  copy_async<4>(to, exponents + head * args.keys + key, there ? 4 : 0);
}

/// Waits until the tile at `place` is in shared memory, and queues the copies of one further on: copy_into(stage). Of
/// one stage the tile itself is copied first. Every thread of the block comes here.
template <int stages, class Copy>
__device__ inline void take_tile(const RingPlace<stages>& place, Copy copy_into) {
  if constexpr (stages == 1) {
    __syncthreads();
    copy_into(0);
    wait_async<0>();
    __syncthreads();
  } else {
    wait_async<stages - 2>();
    __syncthreads();
    copy_into((place.stage + stages - 1) % stages);
  }
}

/// Tiles of keys and values, `tiles` at a time, by `threads` threads, which look up lines `ahead` times in advance.
/// Tiles behind the last one are of zeros. Where a block walks in turns, heads from `head` on follow one another.
template <class F, class Places, int threads, int tiles = 1, int ahead = 1>
class TileCopies {
  static constexpr auto traits = F::traits;
  static constexpr int at_a_time = threads / 8;
  static constexpr int lines = tiles * tile_keys() / at_a_time;
  static_assert(tiles <= 2 && tile_keys() % at_a_time == 0,
                "the lines of a tile are a multiple of those copied at a time");

 public:
  __device__ TileCopies(const FusedAttentionArgs& args, long long head, int first_tile, int end_tile, unsigned thread)
      : args_(args),
        head_(head),
        first_(first_tile),
        tile_(first_tile),
        end_(end_tile),
        turns_(turns<F>(args)),
        line_(static_cast<int>(thread / 8)),
        key_leading_(2 * static_cast<unsigned>(key_lines<F>(args).leading)),
        value_leading_(2 * static_cast<unsigned>(value_lines<F>(args).leading)) {
    begin_head();
    int tile = first_tile;
#pragma unroll
    for (int i = 0; i < ahead; ++i, tile = behind(tile)) look_up(keys_[i], tile);
  }

  __device__ bool has_next() const { return tile_ < end_; }
  /// Of the next tile.
  __device__ long long head() const { return head_; }

  /// Queues the next tiles' copies. visit(line, number of the line copied, whether it is there) for each of a thread's
  /// lines.
  template <class Visit>
  __device__ void copy(SharedAddress stage, Visit visit) {
    visit_lines_of_tiles([&](int i, unsigned key, bool there) {
      copy_key(stage, i, key, there);
      copy_value(stage, i, key, there);
      visit(i * at_a_time + line_, static_cast<long long>(key), there);
    });
    advance();
  }
  __device__ void copy(SharedAddress stage) {
    copy(stage, [](int, long long, bool) {});
  }

  /// The same in two: keys, and exponents of both; then values.
  __device__ void copy_keys(SharedAddress stage) {
    visit_lines_of_tiles([&](int i, unsigned key, bool there) { copy_key(stage, i, key, there); });
  }
  __device__ void copy_values(SharedAddress stage) {
    visit_lines_of_tiles([&](int i, unsigned key, bool there) { copy_value(stage, i, key, there); });
    advance();
  }

 private:
  /// visit(which of the thread's lines, its number, whether it is there).
  template <class Visit>
  __device__ void visit_lines_of_tiles(Visit visit) {
#pragma unroll
    for (int i = 0; i < lines; ++i) visit(i, static_cast<unsigned>(max(keys_[0][i], 0)), keys_[0][i] >= 0);
  }

  struct KeyPlace {
    __device__ constexpr unsigned operator()(int line, int chunk) const { return Places::key(line, chunk); }
  };
  struct ValuePlace {
    __device__ constexpr unsigned operator()(int line, int chunk) const { return Places::value(line, chunk); }
  };

  /// Copies a thread's chunks of its line `i` of `size` elements to their places in a stage.
  template <int size, class Place>
  __device__ void copy_chunks(const unsigned char* from, int own_size, bool there, SharedAddress stage, int i,
                              Place place) {
    const int own = static_cast<int>(threadIdx.x % 8);
    const SharedAddress first = stage + place(line_, own);
    copy_line<F, size>(from, own_size, there, [&](int chunk) {
      constexpr bool even = places_are_even<size, at_a_time>(Place{});
      if constexpr (even) return first + (place(i * at_a_time, chunk) - place(0, 0));
      else return stage + place(i * at_a_time + line_, own + chunk);
    });
  }

  __device__ void copy_key(SharedAddress stage, int i, unsigned key, bool there) {
    copy_chunks<key_elements<F>()>(key_ + static_cast<unsigned long long>(key) * key_leading_, args_.key_size, there,
                                   stage, i, KeyPlace{});
    if constexpr (traits.terms > 0)
      copy_exponents<F, Places>(args_, head_, static_cast<long long>(key), there, stage, i * at_a_time + line_);
  }
  __device__ void copy_value(SharedAddress stage, int i, unsigned key, bool there) {
    copy_chunks<value_elements<F>()>(value_ + static_cast<unsigned long long>(key) * value_leading_, args_.value_size,
                                     there, stage, i, ValuePlace{});
  }

  __device__ void begin_head() {
    key_ = key_lines<F>(args_).chunk(head_, 0);
    value_ = value_lines<F>(args_).chunk(head_, 0);
  }

  __device__ void advance() {
    tile_ += tiles;
    if constexpr (walks_in_turns<F>()) take_turn();
    int tile = tile_;
#pragma unroll
    for (int i = 0; i + 1 < ahead; ++i, tile = behind(tile))
#pragma unroll
      for (int line = 0; line < lines; ++line) keys_[i][line] = keys_[i + 1][line];
    look_up(keys_[ahead - 1], tile);
  }

  __device__ void take_turn() {
    static_assert(tiles == 1 || !walks_in_turns<F>(), "a turn ends behind any tile");
    if (tile_ < end_ || --turns_ == 0) return;
    tile_ = first_;
    ++head_;
    begin_head();
  }

  /// The tile that is copied behind one.
  __device__ int behind(int tile) const {
    if constexpr (walks_in_turns<F>()) return tile + 1 == end_ && turns_ > 1 ? first_ : tile + 1;
    else return tile + tiles;
  }

  __device__ void look_up(int (&found)[lines], int tile) {
    if (tile >= end_) return;
    const auto* const keys =
        reinterpret_cast<const unsigned*>(args_.tiles.keys) + static_cast<long long>(tile) * tile_keys() + line_;
#pragma unroll
    for (int i = 0; i < lines; ++i) {
      const bool there = tiles == 1 || i * at_a_time < tile_keys() || tile + 1 < end_;
      found[i] = there ? static_cast<int>(load_global(keys + i * at_a_time)) : -1;
    }
    // Else whoever only copies would wait for L2 once a tile: a line of 128 bytes for each half of the threads.
    if (ahead == 1 && tile + 2 * tiles <= end_)
      expect_global(keys + (tiles * tile_keys() - line_ + threadIdx.x % (2 * tiles) * 32));
  }

  const FusedAttentionArgs& args_;
  long long head_;
  const unsigned char* key_;    ///< the thread's first chunk of the head's first line
  const unsigned char* value_;  ///< likewise
  const int first_;
  int tile_;
  const int end_;
  int turns_;
  const int line_;
  const unsigned key_leading_;    ///< bytes from one line to the next
  const unsigned value_leading_;  ///< likewise
  int keys_[ahead][lines] = {};
};

}  // namespace vostok
