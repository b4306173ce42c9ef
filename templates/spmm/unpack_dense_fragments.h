// Fragments of B from a tile of 16-bit terms in shared memory.
#pragma once

#include "parts/ldmatrix.h"
#include "spmm/unpack_shared.h"

namespace vostok {

/// Where a lane's rows of B's fragments lie in a tile of 16-bit terms, for the columns of its warp. A chunk's number
/// only ever changes in bits that the first one's does not have, so that the places of the others are the first one's
/// with bits flipped.
template <class F>
class DenseFragments {
  static constexpr auto config = F::config;
  static constexpr bool along_k = stages_columns(F::traits, config);
  using Lines = TermLines<F>;

 public:
  /// Matrices of 8 k x 8 columns that one load takes: both halves of a k16 step, of two neighbouring octets of columns
  /// or of one.
  static constexpr int matrices = config.warp_columns >= 16 ? 4 : 2;
  static constexpr int loads = config.warp_columns / (4 * matrices);

  __device__ DenseFragments(unsigned column_warp, unsigned lane) {
    const unsigned first_column = column_warp * config.warp_columns;
    if constexpr (along_k) offset_ = Lines::place(first_column + lane / 16 * 8 + lane % 8, lane / 8 % 2);
    else offset_ = Lines::place(lane % 16, first_column / 8 + lane / 16);
  }

  /// The words b0, b1 of one octet of columns and, with four matrices, of the next: `index` counts these, `dense` is
  /// the tile of one term, at a multiple of 128 bytes.
  __device__ void load(unsigned (&words)[matrices], SharedAddress dense, int step, int index) const {
    const SharedAddress first = dense + offset_;
    if constexpr (along_k) load_matrices<false>(words, flipped(first, 32U * step) + index * (16 * Lines::line_bytes));
    else
      load_matrices<true>(
          words, flipped(first, 32U * index % 128) + (32U * index / 128 * 128 + step * (16 * Lines::line_bytes)));
  }

 private:
  /// The address with these bits flipped, below 128.
  static __device__ SharedAddress flipped(SharedAddress address, unsigned bits) {
#if defined(VOSTOK_EMULATOR)
    return {reinterpret_cast<const unsigned char*>(reinterpret_cast<unsigned long long>(address.at) ^ bits)};
#else
    return {address.at ^ bits};
#endif
  }

  unsigned offset_;
};

}  // namespace vostok
