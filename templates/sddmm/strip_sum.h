// The products of one row of A with the rows of B that a strip names: each lane sums its part of n for every entry, and
// a transposing reduction leaves each lane with the sums of a few entries.
#pragma once

#include "parts/warp.h"
#include "sddmm/strip_columns.h"

namespace vostok {

/// The sums that a lane ends with: those of entries lane, lane + lanes, ... Where a strip has fewer entries than lanes,
/// neighbouring lanes hold the same sum and the first of them owns it.
template <class F>
struct StripTotals {
  static constexpr int lanes = F::config.threads_per_strip;
  static constexpr int entries = F::config.strip_entries;
  static constexpr int group = entries < lanes ? entries : lanes;  ///< entries that one pass of the reduction spreads
  static constexpr int slots = entries / group;

  float at[slots] = {};

  static __device__ int entry(int slot, unsigned lane) {
    return slot * group + static_cast<int>(lane) / (lanes / group);
  }
  static __device__ bool owns(unsigned lane) { return lane % (lanes / group) == 0; }
};

template <class F>
class StripSum {
  static constexpr auto config = F::config;
  static constexpr int lanes = config.threads_per_strip;
  static constexpr int entries = config.strip_entries;
  static constexpr int vectors = config.step_vectors;
  static constexpr int width = config.dense_vector;
  static constexpr int batch_length = config.loads_in_flight;
  using Item = Element<F::traits.element>;
  using Dense = Vector<typename Item::Storage, width>;
  static constexpr int vector_distance =
      lanes * static_cast<int>(sizeof(Dense));  ///< bytes between a lane's vectors of a step

 public:
  /// What every step needs: the strip's length and its offsets into B.
  struct Work {
    const StripColumns<F>& columns;
    int count;
  };

  /// Adds one step. `lhs` and `rhs` are at the lane's first element of it in a row of A and in row 0 of B; `left`
  /// elements follow there in a row, which the step passes unless it is `whole`.
  template <bool whole>
  __device__ void add_step(const Work& work, const char* lhs, const char* rhs, long long left) {
    const Row row = load_row<whole>(work, lhs, left);
    Loaded next = load<whole>(work, 0, rhs, left);
#pragma unroll
    for (int first = 0; first < entries; first += batch_length) {
      const Loaded loaded = next;
      const int following = first + batch_length;
      if (config.overlap_batches && following < entries) next = load<whole>(work, following, rhs, left);
      if (first < work.count) multiply(first, row, loaded);
      if (!config.overlap_batches && following < entries) next = load<whole>(work, following, rhs, left);
    }
  }

  /// Adds the lanes' sums to `totals`. Every lane of the warp comes here.
  __device__ void reduce_into(StripTotals<F>& totals, unsigned lane) {
#pragma unroll
    for (int slot = 0; slot < StripTotals<F>::slots; ++slot)
      totals.at[slot] += reduce(slot * StripTotals<F>::group, lane);
  }

 private:
  struct Row {
    float at[vectors][width];
  };
  /// Rows of B as they were loaded: 16-bit elements stay in pairs, two to a register, until they are multiplied.
  using Bits = typename detail::BitsOf<sizeof(Dense)>::Type;
  struct Loaded {
    Bits at[batch_length][vectors];
  };

  template <bool whole>
  static __device__ bool exists(int vector, long long left) {
    return whole || vector * lanes * width < left;
  }

  template <bool whole>
  static __device__ Row load_row(const Work& work, const char* lhs, long long left) {
    Row row;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      Dense stored = {};
      if (work.count > 0 && exists<whole>(v, left))
        stored = load_global(reinterpret_cast<const Dense*>(lhs + v * vector_distance));
#pragma unroll
      for (int j = 0; j < width; ++j) row.at[v][j] = Item::to_float(stored.at[j]);
    }
    return row;
  }

  template <bool whole>
  static __device__ Loaded load(const Work& work, int first, const char* rhs, long long left) {
    const auto offsets = work.columns.template read<batch_length>(first);
    Loaded loaded = {};
    if (first < work.count) {
#pragma unroll
      for (int i = 0; i < batch_length; ++i)
#pragma unroll
        for (int v = 0; v < vectors; ++v)
          if (exists<whole>(v, left))
            loaded.at[i][v] = load_global(reinterpret_cast<const Bits*>(rhs + offsets.at[i] + v * vector_distance));
    }
    return loaded;
  }

  __device__ void multiply(int first, const Row& row, const Loaded& loaded) {
#pragma unroll
    for (int i = 0; i < batch_length; ++i)
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const auto dense = __builtin_bit_cast(Dense, loaded.at[i][v]);
#pragma unroll
        for (int j = 0; j < width; ++j)
          sum_[first + i] = fmaf(row.at[v][j], Item::to_float(dense.at[j]), sum_[first + i]);
      }
  }

  /// The sum over lanes of one entry of the group at `first`. At each distance a lane keeps half of the entries it has
  /// and gives the other half away, until one is left; further lanes then hold the same entry.
  __device__ float reduce(int first, unsigned lane) {
    constexpr int group = StripTotals<F>::group;
#pragma unroll
    for (int kept = group / 2, distance = lanes / 2; kept > 0; kept /= 2, distance /= 2) {
      const bool upper = (lane & static_cast<unsigned>(distance)) != 0;
#pragma unroll
      for (int i = 0; i < kept; ++i) {
        const float low = sum_[first + i];
        const float high = sum_[first + kept + i];
        sum_[first + i] = (upper ? high : low) + shuffle_xor(upper ? low : high, distance);
      }
    }
    float sum = sum_[first];
#pragma unroll
    for (int distance = lanes / group / 2; distance > 0; distance /= 2) sum += shuffle_xor(sum, distance);
    return sum;
  }

  float sum_[entries] = {};
};

}  // namespace vostok
