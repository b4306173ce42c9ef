// The products of a row and a tile of B's columns, summed in registers.
#pragma once

#include "parts/warp.h"
#include "spmm/row_entries.h"

namespace vostok {

/// The columns of one lane: chunks of dense_vector columns, threads_per_row chunks apart.
template <class F>
struct LaneColumns {
  static constexpr auto config = F::config;
  static constexpr int stride = config.threads_per_row * config.dense_vector;
  static constexpr int chunks = config.tile_columns / stride;

  long long first;
  long long n;

  __device__ long long column(int chunk) const { return first + chunk * stride; }
  __device__ bool exists(int chunk) const { return config.column_edge == ColumnEdge::unchecked || column(chunk) < n; }
  /// The column that a lane reads for `chunk`: the last ones for lanes past the edge.
  __device__ long long readable(int chunk) const {
    if (config.column_edge == ColumnEdge::unchecked || column(chunk) < n) return column(chunk);
    return n - config.dense_vector;
  }
};

template <class F>
class RowSum {
  static constexpr auto config = F::config;
  static constexpr int chunks = LaneColumns<F>::chunks;
  static constexpr int width = config.dense_vector;
  using Stored = typename Element<F::traits.element>::Storage;
  using Dense = Vector<Stored, width>;
  /// Elements of B as they were loaded: 16-bit ones stay in pairs, two to a register, until they are multiplied.
  using Bits = typename detail::BitsOf<sizeof(Dense)>::Type;

 public:
  __device__ RowSum(const CsrProductArgs& args, const Operands<F>& operands, const LaneColumns<F>& columns)
      : columns_(columns) {
    const long long column_step = reads_columns(F::traits, config) ? args.dense_leading : 1;
#pragma unroll
    for (int c = 0; c < chunks; ++c)
      dense_[c] = reinterpret_cast<const char*>(operands.dense + columns.readable(c) * column_step);
  }

  /// A batch and what it multiplies.
  template <int count>
  struct Loaded {
    float values[count];
    Bits dense[count][chunks];
  };

  /// Loads B for the entries for which own(i) holds; the others get zeros and read nothing.
  template <int count, class Own>
  __device__ Loaded<count> load(const Batch<F, count>& batch, Own own) const {
    Loaded<count> loaded;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      loaded.values[i] = batch.values[i];
#pragma unroll
      for (int c = 0; c < chunks; ++c) {
        loaded.dense[i][c] = {};
        const bool wanted = config.column_edge != ColumnEdge::predicated || columns_.exists(c);
        if (own(i) && wanted)
          loaded.dense[i][c] = load_global(reinterpret_cast<const Bits*>(dense_[c] + batch.offsets[i]));
      }
    }
    return loaded;
  }

  /// Loads B for the entries whose bits are set; of the others nothing is known.
  template <int count>
  __device__ Loaded<count> load_some(const Batch<F, count>& batch, unsigned mask) const {
    Loaded<count> loaded;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      loaded.values[i] = batch.values[i];
#pragma unroll
      for (int c = 0; c < chunks; ++c) {
        const bool wanted = config.column_edge != ColumnEdge::predicated || columns_.exists(c);
        if ((mask >> i & 1U) != 0 && wanted)
          loaded.dense[i][c] = load_global(reinterpret_cast<const Bits*>(dense_[c] + batch.offsets[i]));
      }
    }
    return loaded;
  }

  template <int count>
  __device__ void add(const Loaded<count>& loaded) {
#pragma unroll
    for (int i = 0; i < count; ++i) add_entry(loaded, i);
  }

  /// Adds the entries of a batch whose bits are set, four or none of four at a time.
  template <int count>
  __device__ void add_some(const Loaded<count>& loaded, unsigned mask) {
    constexpr int group = count < 4 ? count : 4;
#pragma unroll
    for (int first = 0; first < count; first += group) {
      if ((mask >> first & ((1U << group) - 1)) == 0) continue;
#pragma unroll
      for (int i = first; i < first + group; ++i)
        if ((mask >> i & 1U) != 0) add_entry(loaded, i);
    }
  }

  /// The next row's sum starts.
  __device__ void clear() {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int j = 0; j < width; ++j) sum_[c][j] = total_[c][j] = 0.0F;
  }

  /// Moves the sum so far to the total (blocked summation).
  __device__ void flush() {
#pragma unroll
    for (int c = 0; c < chunks; ++c)
#pragma unroll
      for (int j = 0; j < width; ++j) {
        total_[c][j] += sum_[c][j];
        sum_[c][j] = 0.0F;
      }
  }

  /// The row's products, the same in every subwarp of the row.
  __device__ float total(int chunk, int j) const {
    float value = keeps_totals(F::traits, config) ? total_[chunk][j] + sum_[chunk][j] : sum_[chunk][j];
#pragma unroll
    for (int distance = config.threads_per_row; distance < lanes_per_row(config); distance *= 2)
      value += shuffle_xor(value, distance);
    return value;
  }

 private:
  template <int count>
  __device__ void add_entry(const Loaded<count>& loaded, int i) {
#pragma unroll
    for (int c = 0; c < chunks; ++c) {
      const auto dense = __builtin_bit_cast(Dense, loaded.dense[i][c]);
#pragma unroll
      for (int j = 0; j < width; ++j)
        sum_[c][j] = fmaf(loaded.values[i], Element<F::traits.element>::to_float(dense.at[j]), sum_[c][j]);
    }
  }

  const LaneColumns<F>& columns_;
  const char* dense_[chunks];
  float sum_[chunks][width] = {};
  float total_[chunks][width] = {};
};

}  // namespace vostok
