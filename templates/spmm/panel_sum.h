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
    constexpr unsigned batch = config.loads_in_flight;
    count = (count + filled - 1) / filled * filled;
    unsigned first = 0;
#pragma unroll 1
    for (; first + batch <= count; first += batch) add_batch<batch>(entries, panels, first);
    add_rest<batch / 2>(entries, panels, first, count);
  }

  __device__ void add(const PanelSum& other) {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int j = 0; j < width; ++j) at[c][j] += other.at[c][j];
  }

 private:
  /// Fewer than 2 * batch are left: each power of two once, down to what rows are filled up to.
  template <int batch>
  __device__ void add_rest(const PanelEntries<F>& entries, const char* panels, unsigned first, unsigned count) {
    if constexpr (batch >= filled) {
      if (first + batch <= count) {
        add_batch<batch>(entries, panels, first);
        first += batch;
      }
      add_rest<batch / 2>(entries, panels, first, count);
    }
  }

  template <int batch>
  __device__ void add_batch(const PanelEntries<F>& entries, const char* panels, unsigned first) {
    constexpr int stride_bytes = LaneColumns<F>::stride * sizeof(typename Panel<F>::Stored);
    const auto staged = entries.template read<batch>(first);
    Bits dense[batch][chunks];
#pragma unroll
    for (int i = 0; i < batch; ++i)
#pragma unroll
      for (int c = 0; c < chunks; ++c)
        dense[i][c] = *reinterpret_cast<const Bits*>(panels + staged.at[i].offset + c * stride_bytes);
#pragma unroll
    for (int i = 0; i < batch; ++i)
#pragma unroll
      for (int c = 0; c < chunks; ++c)
#pragma unroll
        for (int j = 0; j < width; ++j)
          at[c][j] += staged.at[i].value * loaded_element<F::traits.element>(dense[i][c], j);
  }
};

}  // namespace vostok
