// The products of a row and a panel's rows of B, summed in registers.
#pragma once

#include "parts/loaded_elements.h"
#include "spmm/panel_copies.h"
#include "spmm/panel_entries.h"
#include "spmm/row_sum.h"

namespace vostok {

/// The sums of one row's columns of a lane.
template <class F>
struct PanelSum {
  static constexpr auto config = F::config;
  static constexpr int chunks = LaneColumns<F>::chunks;
  static constexpr int width = config.dense_vector;
  static constexpr int filled = config.filled_entries;
  using Dense = Vector<typename Panel<F>::Stored, width>;
  /// Elements of B as they were loaded: 16-bit ones stay in pairs, two to a register, until they are multiplied.
  using Bits = typename detail::BitsOf<sizeof(Dense)>::Type;

  float at[chunks][width] = {};

  __device__ float total(int chunk, int j) const { return at[chunk][j]; }

  /// Adds the first `count` entries that are staged, and those of no value behind them that fill up a batch.
  /// `panels`: the lane's columns of the first panel.
  __device__ void add(const PanelEntries<F>& entries, const char* panels, unsigned count) {
    count = (count + filled - 1) / filled * filled;
    unsigned first = 0;
    if constexpr (batch > piece) {
#pragma unroll 1
      for (; first + batch <= count; first += batch) {
        const Entries<batch> staged = entries.template read<batch>(first);
        multiply(staged, dense_of(staged, panels));
      }
    }
    if constexpr (batch == piece || filled < batch) add_pieces(entries, panels, first, count);
  }

  __device__ void add(const PanelSum& other) {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int j = 0; j < width; ++j) at[c][j] += other.at[c][j];
  }

 private:
  static constexpr int batch = config.loads_in_flight;
  /// Entries that are read while the elements of those before them are on their way: registers for few.
  static constexpr int piece = [] {
    int most = batch < 4 ? batch : 4;
    while (config.tile_nonzeros % most != 0) most /= 2;
    return most;
  }();

  template <int count>
  using Entries = Vector<PanelEntry, count>;
  template <int count>
  struct DenseBits {
    Bits at[count][chunks];
  };

  /// Adds those from `first` on, a multiple of a piece.
  __device__ void add_pieces(const PanelEntries<F>& entries, const char* panels, unsigned first, unsigned count) {
    Entries<piece> staged = piece_at(entries, first);
#pragma unroll 1
    while (first + piece <= count) {
      const DenseBits<piece> dense = dense_of(staged, panels);
      first += piece;
      const Entries<piece> next = piece_at(entries, first);
      multiply(staged, dense);
      staged = next;
    }
    if constexpr (filled < piece) add_rest(staged, panels, count - first);
  }

  /// A piece that is staged. Behind the last one there is nothing to read: the last one again.
  static __device__ Entries<piece> piece_at(const PanelEntries<F>& entries, unsigned first) {
    constexpr unsigned last = config.tile_nonzeros - piece;
    return entries.template read<piece>(first < last ? first : last);
  }

  /// Adds the first `left` of a piece, fewer than it has. One wait for all, and no branch: what does not exist is zero.
  __device__ void add_rest(const Entries<piece>& staged, const char* panels, unsigned left) {
    constexpr int most = piece - filled;
    Entries<most> rest;
#pragma unroll
    for (int i = 0; i < most; ++i) {
      rest.at[i] = staged.at[i];
      if (i >= static_cast<int>(left)) rest.at[i].value = 0;
    }
    multiply(rest, dense_of(rest, panels, left));
  }

  /// What entries multiply; of those from `count` on zeros.
  template <int most>
  static __device__ DenseBits<most> dense_of(const Entries<most>& staged, const char* panels, unsigned count = most) {
    constexpr int stride_bytes = LaneColumns<F>::stride * sizeof(typename Panel<F>::Stored);
    DenseBits<most> dense = {};
#pragma unroll
    for (int i = 0; i < most; ++i)
#pragma unroll
      for (int c = 0; c < chunks; ++c)
        if (i < static_cast<int>(count))
          dense.at[i][c] = *reinterpret_cast<const Bits*>(panels + staged.at[i].offset + c * stride_bytes);
    return dense;
  }

  template <int count>
  __device__ void multiply(const Entries<count>& staged, const DenseBits<count>& dense) {
#pragma unroll
    for (int i = 0; i < count; ++i)
#pragma unroll
      for (int c = 0; c < chunks; ++c)
#pragma unroll
        for (int j = 0; j < width; ++j)
          // Not left to the compiler, which may part a product that is always computed from its addition.
          at[c][j] = fmaf(staged.at[i].value, loaded_element<F::traits.element>(dense.at[i][c], j), at[c][j]);
  }
};

}  // namespace vostok
