// Sums of a strip of 16 lines, which a warp has as fragments, to memory in whole sectors; and which of its lines are
// not finite.
#pragma once

#include "parts/finite.h"
#include "parts/loads.h"
#include "spmm/fragment_pieces.h"

namespace vostok {

/// A matrix of lines [size]; `whole`: it has as many elements as `size` says.
template <Dtype element, int size, bool whole>
class StripStore {
  static constexpr int octets = size / 8;
  static constexpr int run = element != Dtype::f32 && octets % 4 == 0 ? 4 : 2;  // 16 bytes, or 8
  using Pieces = FragmentPieces<element, Layout::row_major, run>;
  using Piece = typename Pieces::Piece;
  using Stored = typename Element<element>::Storage;
  static constexpr int piece_elements = 2 * run;

 public:
  /// `first_row`: of the strip; rows from `rows` on are not there.
  __device__ StripStore(void* matrix, long long leading, long long first_row, long long rows, int own_size)
      : matrix_(static_cast<Stored*>(matrix)),
        leading_(leading),
        first_row_(first_row),
        rows_(rows),
        own_size_(own_size) {}

  /// Of more sums than there are elements, the first count. Every lane of the warp comes here.
  template <int count>
  __device__ void store(const float (&sums)[count][4]) const {
#pragma unroll
    for (int o = 0; o < octets; o += run) store_run(sums, o);
  }

 private:
  template <int count>
  __device__ void store_run(const float (&sums)[count][4], int first) const {
    typename Pieces::Pair pairs[run][2];
#pragma unroll
    for (int i = 0; i < run; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float values[2] = {sums[first + i][2 * half], sums[first + i][2 * half + 1]};
        pairs[i][half] = stored_pair<element>(values);
      }
    Piece pieces[2];
    Pieces::gather(pieces, pairs);
    const unsigned lane = threadIdx.x % 32;
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const long long row = first_row_ + Pieces::row(p, lane);
      const int column = 8 * first + static_cast<int>(Pieces::column(p, lane));
      if (row < rows_) store_piece(matrix_ + row * leading_, column, pieces[p]);
    }
  }

  __device__ void store_piece(Stored* line, int column, const Piece& piece) const {
    if (whole || column + piece_elements <= own_size_) {
      store_global<false>(reinterpret_cast<Piece*>(line + column), piece);
    } else {
#pragma unroll
      for (int i = 0; i < piece_elements; ++i)
        if (column + i < own_size_) line[column + i] = stored_of_piece(piece, i);
    }
  }

  static __device__ Stored stored_of_piece(const Piece& piece, int i) {
    if constexpr (element == Dtype::f32) return __builtin_bit_cast(float, piece.at[i]);
    else return static_cast<Stored>(piece.at[i / 2] >> 16 * (i % 2));
  }

  Stored* const matrix_;
  const long long leading_;
  const long long first_row_;
  const long long rows_;
  const int own_size_;
};

/// Whether the sums of a lane's lines, group and group + 8, are all finite.
template <int octets, int count>
__device__ inline void find_finite(bool (&finite)[2], const float (&sums)[count][4]) {
#pragma unroll
  for (int o = 0; o < octets; ++o)
#pragma unroll
    for (int i = 0; i < 4; ++i) finite[i / 2] = finite[i / 2] && is_finite(sums[o][i]);
}

/// A lane of each four that hold a line of which one says `wrong`.
__device__ inline unsigned lanes_of_lines(bool wrong) {
  unsigned lanes = __ballot_sync(0xffffffffU, wrong);
  lanes |= lanes >> 1;
  lanes |= lanes >> 2;
  return lanes & 0x11111111U;
}

/// make(row) for the rows of these lanes, by the whole warp, after what its lanes stored before.
template <class Make>
__device__ inline void visit_lines(unsigned lanes, long long row, Make make) {
  if (lanes == 0) return;
  __syncwarp();
#pragma unroll 1
  for (unsigned left = lanes; left != 0; left &= left - 1)
    make(__shfl_sync(0xffffffffU, row, __ffs(static_cast<int>(left)) - 1));
}

}  // namespace vostok
