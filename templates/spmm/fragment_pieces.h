// Fragments of sums (parts/mma.h) as pieces of C: neighbours of one line of C, which lanes of a warp have apart, come
// to one lane, so that it stores them at once. Memory takes whole sectors of 32 bytes several times as fast as halves
// (bench/notes/stores.md).
#pragma once

#include "parts/element.h"

namespace vostok {

namespace detail {

/// What another lane gives.
template <int parts>
__device__ inline Vector<unsigned, parts> of_lane(Vector<unsigned, parts> given, int lane) {
#pragma unroll
  for (unsigned& part : given.at) part = __shfl_sync(0xffffffffU, part, lane);
  return given;
}

/// The lower of two lanes gives its second word for the first of the upper one: transposes two by two.
template <int bits, int parts>
__device__ inline void exchange(Vector<unsigned, parts>& first, Vector<unsigned, parts>& second) {
  const bool upper = (threadIdx.x & bits) != 0;
#pragma unroll
  for (int i = 0; i < parts; ++i) {
    const unsigned received = __shfl_xor_sync(0xffffffffU, upper ? first.at[i] : second.at[i], bits);
    if (upper) first.at[i] = received;
    else second.at[i] = received;
  }
}

}  // namespace detail

/// Two neighbouring elements, as bits.
template <Dtype type>
using StoredPair = Vector<unsigned, size_of(type) / 2>;

template <Dtype type>
__device__ inline StoredPair<type> stored_pair(const float (&values)[2]) {
  if constexpr (type == Dtype::f32)
    return {__builtin_bit_cast(unsigned, values[0]), __builtin_bit_cast(unsigned, values[1])};
  else return {Element<type>::pair_from_float(values[0], values[1])};
}

/// One of them.
template <Dtype type>
__device__ inline float float_of_pair(const StoredPair<type>& pair, int part) {
  if constexpr (type == Dtype::f32) return __builtin_bit_cast(float, pair.at[part]);
  else return Element<type>::to_float(static_cast<unsigned short>(pair.at[0] >> 16 * part));
}

/// The first pair, with one of its elements from the other.
template <Dtype type>
__device__ inline StoredPair<type> with_part_of(StoredPair<type> pair, const StoredPair<type>& other, int part) {
  if constexpr (type == Dtype::f32) {
    pair.at[part] = other.at[part];
  } else {
    const unsigned mask = 0xffffU << 16 * part;
    pair.at[0] = (pair.at[0] & ~mask) | (other.at[0] & mask);
  }
  return pair;
}

/// Of the 16 rows and 8 * `run` columns of neighbouring fragments, where lines of C are rows. The pieces of
/// neighbouring lanes are neighbours: a sector that lanes 0 and 2 share takes four times as long as one of lanes 0
/// and 1.
template <Dtype type, Layout layout, int run>
struct FragmentPieces {
  static_assert(layout == Layout::row_major && (run == 1 || run == 2 || run == 4), "fragments side by side");
  static constexpr int pieces = 2;  ///< that a lane has
  using Pair = StoredPair<type>;
  static constexpr int parts = sizeof(Pair) / 4;
  using Piece = Vector<unsigned, run * parts>;  ///< 2 * run elements

  /// Which of a fragment's four sums is in a pair.
  static constexpr int sum(int pair, int part) { return 2 * pair + part; }
  /// Where a lane's piece begins.
  static __device__ unsigned row(int piece, unsigned lane) { return lane / 4 + 8U * piece; }
  static __device__ unsigned column(int, unsigned lane) {
    return lane % 4 * run / 4 * 8 + lane % (4 / run) * (2 * run);
  }

  static __device__ void gather(Piece (&to)[pieces], const Pair (&from)[run][2]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Pair pairs[run];
#pragma unroll
      for (int i = 0; i < run; ++i) pairs[i] = from[i][half];
      if constexpr (run == 2) gather_two(pairs);
      else transpose(pairs);
#pragma unroll
      for (int i = 0; i < run * parts; ++i) to[half].at[i] = pairs[i / parts].at[i % parts];
    }
  }

  static __device__ void scatter(Pair (&to)[run][2], const Piece (&from)[pieces]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      Pair pairs[run];
#pragma unroll
      for (int i = 0; i < run * parts; ++i) pairs[i / parts].at[i % parts] = from[half].at[i];
      if constexpr (run == 2) scatter_two(pairs);
      else transpose(pairs);
#pragma unroll
      for (int i = 0; i < run; ++i) to[i][half] = pairs[i];
    }
  }

 private:
  /// Pair i of the result is that of lane i of four, of the fragment of the lane's number among them.
  static __device__ void transpose(Pair (&pairs)[run]) {
    if constexpr (run == 4) {
      detail::exchange<1>(pairs[0], pairs[1]);
      detail::exchange<1>(pairs[2], pairs[3]);
      detail::exchange<2>(pairs[0], pairs[2]);
      detail::exchange<2>(pairs[1], pairs[3]);
    }
  }

  /// The four lanes' pairs of the first fragment to the first two lanes, those of the second to the others.
  static __device__ void gather_two(Pair (&pairs)[run]) {
    const bool odd = threadIdx.x % 2 != 0, behind = threadIdx.x % 4 >= 2;
    const Pair one = detail::of_lane(odd ? pairs[1] : pairs[0], lane_of_four(0x3120));
    const Pair other = detail::of_lane(odd ? pairs[0] : pairs[1], lane_of_four(0x2031));
    pairs[0] = behind ? other : one;
    pairs[1] = behind ? one : other;
  }
  static __device__ void scatter_two(Pair (&pairs)[run]) {
    const bool odd = threadIdx.x % 2 != 0, behind = threadIdx.x % 4 >= 2;
    const Pair one = detail::of_lane(behind ? pairs[1] : pairs[0], lane_of_four(0x3120));
    const Pair other = detail::of_lane(behind ? pairs[0] : pairs[1], lane_of_four(0x1302));
    pairs[0] = odd ? other : one;
    pairs[1] = odd ? one : other;
  }
  /// Hexadecimal digit i of `lanes`, in lane i of four.
  static __device__ int lane_of_four(unsigned lanes) {
    return static_cast<int>(threadIdx.x % 32 / 4 * 4 + (lanes >> threadIdx.x % 4 * 4 & 3));
  }
};

/// Of the 16 rows and eight columns of one fragment of 16-bit elements, where lines of C are columns.
template <Dtype type>
struct FragmentPieces<type, Layout::column_major, 1> {
  static constexpr int pieces = 1;
  using Pair = StoredPair<type>;
  using Piece = Vector<unsigned, 2>;  ///< four rows

  static constexpr int sum(int pair, int part) { return pair + 2 * part; }
  static __device__ unsigned row(int, unsigned lane) { return lane / 16 * 4 + lane / 8 % 2 * 8; }
  static __device__ unsigned column(int, unsigned lane) { return lane % 4 * 2 + lane / 4 % 2; }

  /// Two rows to a pair, then four to a piece.
  static __device__ void gather(Piece (&to)[pieces], const Pair (&from)[1][2]) {
    Pair even = from[0][0], odd = from[0][1];
    detail::exchange<4>(even, odd);
    Pair upper = lower_halves(even, odd), lower = upper_halves(even, odd);
    detail::exchange<8>(upper, lower);
    to[0] = {upper.at[0], lower.at[0]};
  }

  static __device__ void scatter(Pair (&to)[1][2], const Piece (&from)[pieces]) {
    Pair upper = {from[0].at[0]}, lower = {from[0].at[1]};
    detail::exchange<8>(upper, lower);
    to[0][0] = lower_halves(upper, lower);
    to[0][1] = upper_halves(upper, lower);
    detail::exchange<4>(to[0][0], to[0][1]);
  }

 private:
  static __device__ Pair lower_halves(const Pair& first, const Pair& second) {
    return {(first.at[0] & 0xffffU) | second.at[0] << 16};
  }
  static __device__ Pair upper_halves(const Pair& first, const Pair& second) {
    return {first.at[0] >> 16 | (second.at[0] & 0xffff0000U)};
  }
};

}  // namespace vostok
