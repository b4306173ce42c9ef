// A row's entries of a panel, through shared memory: its lanes load different ones and read each other's, two at a
// time.
#pragma once

#include "parts/opaque.h"
#include "spmm/dealt_rows.h"
#include "spmm/row_entries.h"

namespace vostok {

/// Where the panels hold the row of B that an entry multiplies, in bytes, and its value.
struct PanelEntry {
  unsigned offset;
  float value;
};

/// Those that are staged at once. The last member spreads the rows of a warp over the banks.
template <class F>
struct EntryChunk {
  alignas(16) PanelEntry at[F::config.tile_nonzeros];
  alignas(16) unsigned spread[4];
};

template <class F>
class PanelEntries {
  static constexpr auto config = F::config;
  using Value = typename Element<F::traits.element>::Storage;
  using Column = typename Index<F::traits.index>::Storage;
  static constexpr int lanes = config.threads_per_row;
  static constexpr int loads = (config.tile_nonzeros + lanes - 1) / lanes;
  static constexpr bool whole = config.tile_nonzeros % lanes == 0;  ///< every slot of every lane is staged
  static constexpr bool filled = fills_rows(config);
  static constexpr unsigned zeros = config.stages * panel_bytes(F::traits, config);  ///< behind the panels
  static constexpr unsigned row_bytes = config.tile_columns * size_of(F::traits.element);
  static_assert(sizeof(EntryChunk<F>) == staged_entry_bytes(config), "staged_entry_bytes differs from the layout");

 public:
  __device__ PanelEntries(const StagedRowsArgs& args, const Operands<F>& operands, EntryChunk<F>& chunk)
      : lane_(threadIdx.x % lanes),
        columns_(static_cast<const Column*>(args.product.column_indices) + lane_),
        values_(operands.values + (gathers_values(F::traits, config) ? 0 : lane_)),
        positions_(args.product.value_positions + lane_),
        chunk_(chunk) {}

  /// Starts loading the first tile_nonzeros of a segment, in place of what a set held: one of rows_ahead.
  __device__ void load(unsigned set, const PanelSegment& segment) {
    const Column* columns = columns_ + segment.begin;
    const Value* values = values_ + segment.begin;
    const int* positions = positions_ + segment.begin;
    make_global_opaque(columns);  // else every load computes them anew
    if constexpr (gathers_values(F::traits, config)) make_global_opaque(positions);
    else make_global_opaque(values);
    const int left = static_cast<int>(segment.end - segment.begin) - lane_;
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      if (i * lanes >= left || !is_staged(i)) continue;
      loaded_columns_[set][i] = static_cast<unsigned>(load_global(columns + i * lanes));
      if constexpr (gathers_values(F::traits, config))
        loaded_values_[set][i] = load_global(values_ + load_global(positions + i * lanes));
      else loaded_values_[set][i] = load_global(values + i * lanes);
    }
  }

  /// Makes the `count` that a set holds readable by the row's lanes, and those that fill up their batch. `base`: what
  /// is added to a row's offset, 32-bit arithmetic.
  __device__ void publish(unsigned set, unsigned count, unsigned base) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const bool exists = i * lanes + lane_ < static_cast<int>(count);
      if (filled ? !is_staged(i) : !exists) continue;
      const PanelEntry loaded = {loaded_columns_[set][i] * row_bytes + base,
                                 Element<F::traits.element>::to_float(loaded_values_[set][i])};
      chunk_.at[i * lanes + lane_] = exists ? loaded : PanelEntry{zeros, 0};
    }
    __syncwarp();
  }

  /// Every lane has read what was published.
  __device__ void release() { __syncwarp(); }

  /// `count` neighbours: 1, or an even number from an even place on.
  template <int count>
  __device__ Vector<PanelEntry, count> read(unsigned first) const {
    constexpr int width = count < 2 ? 1 : 2;
    struct alignas(8 * width) Some {
      PanelEntry at[width];
    };
    Vector<PanelEntry, count> entries;
#pragma unroll
    for (int i = 0; i < count; i += width) {
      const Some some = *reinterpret_cast<const Some*>(&chunk_.at[first + i]);
#pragma unroll
      for (int j = 0; j < width; ++j) entries.at[i + j] = some.at[j];
    }
    return entries;
  }

 private:
  /// Whether the calling lane stages an entry of its i-th load.
  __device__ bool is_staged(int i) const { return whole || i * lanes + lane_ < config.tile_nonzeros; }

  int lane_;
  const Column* columns_;  ///< from the lane's first on, as are positions, and values that are not gathered
  const Value* values_;
  const int* positions_;
  EntryChunk<F>& chunk_;
  unsigned loaded_columns_[rows_ahead(config)][loads] = {};
  Value loaded_values_[rows_ahead(config)][loads] = {};
};

}  // namespace vostok
