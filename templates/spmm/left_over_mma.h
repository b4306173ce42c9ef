// What packed strips of grain four leave over of a warp's 16 rows (abi/packed_fours.h), of 16-bit elements, multiplied
// on tensor cores (mma.sync): eight entries at a time are eight columns of A, of whatever rows, beside the rows of B
// that they name. Sums are where wgmma has them, so that nothing has to be delivered row by row, which took 750 cycles
// for each entry (bench/notes/fours.md#fours-of-16-bits).
//
// Pieces of B's rows come to registers, 16 bytes each, and through shared memory to fragments, a quarter of the tile's
// columns at a time; as soon as a piece has left its register that of the next eight entries is asked for.
#pragma once

#include "abi/packed_fours.h"
#include "abi/unpack_wgmma.h"
#include "parts/element.h"
#include "parts/ldmatrix.h"
#include "parts/loads.h"
#include "parts/ordered_loads.h"
#include "parts/vector.h"
#include "spmm/left_over.h"

namespace vostok {

template <class F>
class LeftOverMma {
  static constexpr auto config = F::config;
  static constexpr unsigned together = 8;                                 ///< entries, half of the k of an mma
  static constexpr unsigned quarters = 4;                                 ///< of the tile's columns
  static constexpr unsigned octets = config.tile_columns / 8 / quarters;  ///< of a quarter
  static constexpr unsigned pieces = together * octets / 32;              ///< of a lane and a quarter
  static_assert(pieces > 0 && octets % 4 == 0);
  using Value = Element<F::traits.element>;
  using Stored = typename Value::Storage;
  using Piece = Vector<float, 4>;  // eight elements
  using Entries = LeftOverEntries<F>;
  using Entry = typename Entries::Entry;

 public:
  /// `first_column` of the tile; `scratch`: shared memory of the warp's own, left_scratch_bytes.
  __device__ LeftOverMma(const UnpackWgmmaArgs& args, const Entries& entries, unsigned product, long long first_column,
                         unsigned scratch)
      : entries_(entries), row_step_(args.whole_dense.row_step), scratch_(scratch) {
    // Of the lane's pieces those of a quarter are in one column of octets.
    const long long column = first_column + lane() % octets * 8;
    dense_ = static_cast<const Stored*>(args.whole_dense.first) + product * args.whole_dense.stride + column;
    columns_ = tile_columns_from<F>(args, first_column, column);
    chunk_ = entries_.load(0);
  }

  /// Adds the products to `sum`.
  template <class Sum>
  __device__ void add_to(Sum& sum) {
    if (entries_.count() == 0) return;
    next_chunk_ = entries_.load(Entries::chunk);
    const Stored* rows[pieces];
    Piece held[quarters][pieces];
    name_rows(rows, 0);
#pragma unroll
    for (unsigned quarter = 0; quarter < quarters; ++quarter) ask(held[quarter], rows, quarter);
#pragma unroll 1
    for (unsigned first = 0; first < entries_.count(); first += together) {
      unsigned a[4];
      take_values(a, first % Entries::chunk);
      const unsigned following = first + together;
      if (following % Entries::chunk == 0) {
        chunk_ = next_chunk_;
        next_chunk_ = entries_.load(following + Entries::chunk);
      }
      name_rows(rows, following);
#pragma unroll
      for (unsigned quarter = 0; quarter < quarters; ++quarter) {
#pragma unroll
        for (unsigned i = 0; i < pieces; ++i) store_shared_four(place(i * 32 + lane()), held[quarter][i]);
        ask(held[quarter], rows, quarter);
        __syncwarp();
        multiply(sum, a, quarter);
        __syncwarp();
      }
    }
  }

 private:
  static __device__ unsigned lane() { return threadIdx.x % 32; }

  /// Of a quarter's piece in the scratch, by entry, then by octet. Those of the eight entries that a matrix takes are
  /// in different banks.
  __device__ unsigned place(unsigned piece) const {
    const unsigned entry = piece / octets;
    return scratch_ + entry * octets * 16 + ((piece % octets) ^ (entry * octets / 8)) * 16;
  }

  /// The rows of B that the lane's pieces are of, of the entries from `first` on; null past the last.
  __device__ void name_rows(const Stored* (&rows)[pieces], unsigned first) const {
#pragma unroll
    for (unsigned i = 0; i < pieces; ++i) {
      const unsigned entry = first + (i * 32 + lane()) / octets;
      const unsigned named = __shfl_sync(0xffffffff, chunk_.at[0], entry % Entries::chunk);
      rows[i] = entry < entries_.count() ? dense_ + packed_left_column(named) * row_step_ : nullptr;
    }
  }

  __device__ void ask(Piece (&held)[pieces], const Stored* const (&rows)[pieces], unsigned quarter) const {
    const int column = static_cast<int>(quarter * octets * 8);
#pragma unroll
    for (unsigned i = 0; i < pieces; ++i) {
      held[i] = {};
      if (rows[i] != nullptr && column < columns_)
        held[i] = load_global(reinterpret_cast<const Piece*>(rows[i] + column));
    }
  }

  /// The fragment of A: the values of eight entries of the chunk, each in a column of its own.
  __device__ void take_values(unsigned (&a)[4], unsigned first) const {
    float values[2][2];  // of the lane's rows, of its columns
#pragma unroll
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned from = first + lane() % 4 * 2 + j;
      const unsigned row = packed_left_row(__shfl_sync(0xffffffff, chunk_.at[0], from));
      const float value = __uint_as_float(__shfl_sync(0xffffffff, chunk_.at[1], from));
#pragma unroll
      for (unsigned upper = 0; upper < 2; ++upper) values[upper][j] = row == lane() / 4 + 8 * upper ? value : 0.0F;
    }
#pragma unroll
    for (unsigned upper = 0; upper < 2; ++upper) {
      a[upper] = Value::pair_from_float(values[upper][0], values[upper][1]);
      a[upper + 2] = 0;  // the other half of k
    }
  }

  template <class Sum>
  __device__ void multiply(Sum& sum, const unsigned (&a)[4], unsigned quarter) const {
#pragma unroll
    for (unsigned octet = 0; octet < octets; octet += 4) {
      unsigned words[4];
      load_matrices<true>(words, SharedAddress{place(lane() % 8 * octets + octet + lane() / 8)});
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) sum.multiply_left_over(quarter * octets + octet + i, a, words[i]);
    }
  }

  const Entries entries_;
  const Stored* dense_;  ///< the first of the lane's pieces, of row 0
  long long row_step_;
  unsigned scratch_;
  int columns_;  ///< that the tile has from the lane's first on
  Entry chunk_;  ///< of the entries asked for next, one for each lane; then of those after them
  Entry next_chunk_ = {};
};

}  // namespace vostok
