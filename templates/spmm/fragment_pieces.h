// Fragments of sums (parts/mma.h) as pieces of C: neighbours of one line of C, which lanes of a warp have apart, come
// to one lane, so that it stores them at once. Memory takes whole sectors of 32 bytes several times as fast as halves
// (bench/notes/stores.md).
#pragma once

#include "parts/element.h"

namespace vostok {

namespace detail {

/// What move() makes of each 32-bit part of a word.
template <class Word, class Move>
__device__ inline Word moved(const Word& word, Move move) {
  auto parts = __builtin_bit_cast(Vector<unsigned, sizeof(Word) / 4>, word);
#pragma unroll
  for (unsigned& part : parts.at) part = move(part);
  return __builtin_bit_cast(Word, parts);
}

/// What another lane gives.
template <class Word>
__device__ inline Word of_lane(const Word& given, int lane) {
  return moved(given, [&](unsigned part) { return __shfl_sync(0xffffffffU, part, lane); });
}

/// The lower of two lanes gives its second word for the first of the upper one: transposes two by two.
template <int bits, class Word>
__device__ inline void exchange(Word& first, Word& second) {
  const bool upper = (threadIdx.x & bits) != 0;
  const Word received =
      moved(upper ? first : second, [](unsigned part) { return __shfl_xor_sync(0xffffffffU, part, bits); });
  if (upper) first = received;
  else second = received;
}

}  // namespace detail

/// Of the 16 rows and 8 * `run` columns of neighbouring fragments, where lines of C are rows. The pieces of
/// neighbouring lanes are neighbours: a sector that lanes 0 and 2 share takes four times as long as one of lanes 0
/// and 1.
template <Dtype type, Layout layout, int run>
struct FragmentPieces {
  static_assert(layout == Layout::row_major && (run == 1 || run == 2 || run == 4), "fragments side by side");
  using Stored = typename Element<type>::Storage;
  static constexpr int pieces = 2;        ///< that a lane has
  static constexpr int length = 2 * run;  ///< elements of a piece
  using Piece = Vector<Stored, length>;
  using Word = Vector<Stored, 2>;

  /// Which of a fragment's four sums is in a word.
  static constexpr int sum(int word, int part) { return 2 * word + part; }
  /// Where a lane's piece begins.
  static __device__ unsigned row(int piece, unsigned lane) { return lane / 4 + 8U * piece; }
  static __device__ unsigned column(int, unsigned lane) { return lane % 4 * run / 4 * 8 + lane % (4 / run) * length; }

  static __device__ void gather(Piece (&to)[pieces], const Word (&from)[run][2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Vector<Word, run> words;
#pragma unroll
      for (int i = 0; i < run; ++i) words.at[i] = from[i][half];
      if constexpr (run == 2) gather_two(words.at);
      else transpose(words.at);
      to[half] = __builtin_bit_cast(Piece, words);
    }
  }

  static __device__ void scatter(Word (&to)[run][2], const Piece (&from)[pieces]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      auto words = __builtin_bit_cast(Vector<Word, run>, from[half]);
      if constexpr (run == 2) scatter_two(words.at);
      else transpose(words.at);
#pragma unroll
      for (int i = 0; i < run; ++i) to[i][half] = words.at[i];
    }
  }

 private:
  /// Word i of the result is that of lane i of four, of the fragment of the lane's number among them.
  static __device__ void transpose(Word (&words)[run]) {
    if constexpr (run == 4) {
      detail::exchange<1>(words[0], words[1]);
      detail::exchange<1>(words[2], words[3]);
      detail::exchange<2>(words[0], words[2]);
      detail::exchange<2>(words[1], words[3]);
    }
  }

  /// The four lanes' words of the first fragment to the first two lanes, those of the second to the others.
  static __device__ void gather_two(Word (&words)[run]) {
    const bool odd = threadIdx.x % 2 != 0, behind = threadIdx.x % 4 >= 2;
    const Word one = detail::of_lane(odd ? words[1] : words[0], lane_of_four(0x3120));
    const Word other = detail::of_lane(odd ? words[0] : words[1], lane_of_four(0x2031));
    words[0] = behind ? other : one;
    words[1] = behind ? one : other;
  }
  static __device__ void scatter_two(Word (&words)[run]) {
    const bool odd = threadIdx.x % 2 != 0, behind = threadIdx.x % 4 >= 2;
    const Word one = detail::of_lane(behind ? words[1] : words[0], lane_of_four(0x3120));
    const Word other = detail::of_lane(behind ? words[0] : words[1], lane_of_four(0x1302));
    words[0] = odd ? other : one;
    words[1] = odd ? one : other;
  }
  /// Hexadecimal digit i of `lanes`, in lane i of four.
  static __device__ int lane_of_four(unsigned lanes) {
    return static_cast<int>(threadIdx.x % 32 / 4 * 4 + (lanes >> threadIdx.x % 4 * 4 & 3));
  }
};

/// Of the 16 rows and eight columns of one fragment of 16-bit elements, where lines of C are columns.
template <Dtype type>
struct FragmentPieces<type, Layout::column_major, 1> {
  using Stored = typename Element<type>::Storage;
  static constexpr int pieces = 1;
  static constexpr int length = 4;
  using Piece = Vector<Stored, length>;
  using Word = Vector<Stored, 2>;

  static constexpr int sum(int word, int part) { return word + 2 * part; }
  static __device__ unsigned row(int, unsigned lane) { return lane / 16 * 4 + lane / 8 % 2 * 8; }
  static __device__ unsigned column(int, unsigned lane) { return lane % 4 * 2 + lane / 4 % 2; }

  /// Two rows to a word, then four to a piece.
  static __device__ void gather(Piece (&to)[pieces], const Word (&from)[1][2]) {
    Word even = from[0][0], odd = from[0][1];
    detail::exchange<4>(even, odd);
    Vector<Word, 2> words = {{{even.at[0], odd.at[0]}, {even.at[1], odd.at[1]}}};
    detail::exchange<8>(words.at[0], words.at[1]);
    to[0] = __builtin_bit_cast(Piece, words);
  }

  static __device__ void scatter(Word (&to)[1][2], const Piece (&from)[pieces]) {
    auto words = __builtin_bit_cast(Vector<Word, 2>, from[0]);
    detail::exchange<8>(words.at[0], words.at[1]);
    Word even = {words.at[0].at[0], words.at[1].at[0]}, odd = {words.at[0].at[1], words.at[1].at[1]};
    detail::exchange<4>(even, odd);
    to[0][0] = even;
    to[0][1] = odd;
  }
};

}  // namespace vostok
