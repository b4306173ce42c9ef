// A row's entries of a panel, through shared memory: its lanes load different ones and read each other's, two at a
// time.
#pragma once

#include "spmm/panel_rows.h"
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
  static constexpr int loads = (config.tile_nonzeros + config.threads_per_row - 1) / config.threads_per_row;
  static constexpr unsigned row_bytes = config.tile_columns * size_of(F::traits.element);
  static_assert(sizeof(EntryChunk<F>) == staged_entry_bytes(config), "staged_entry_bytes differs from the layout");

 public:
  __device__ PanelEntries(const StagedRowsArgs& args, const Operands<F>& operands, EntryChunk<F>& chunk)
      : columns_(static_cast<const Column*>(args.product.column_indices)),
        values_(operands.values),
        positions_(args.product.value_positions),
        chunk_(chunk),
        lane_(threadIdx.x % config.threads_per_row) {}

  /// Starts loading the first tile_nonzeros of a segment.
  __device__ void load(const PanelSegment& segment) {
#pragma unroll
    for (int i = 0; i < loads; ++i) {
      const unsigned position = segment.begin + slot(i);
      if (slot(i) >= config.tile_nonzeros || position >= segment.end) continue;
      loaded_columns_[i] = load_global(columns_ + position);
      if constexpr (gathers_values(F::traits, config))
        loaded_values_[i] = load_global(values_ + load_global(positions_ + position));
      else loaded_values_[i] = load_global(values_ + position);
    }
  }

  /// Makes the `count` that were loaded readable by the row's lanes. `base`: what is added to a row's offset, 32-bit
  /// arithmetic.
  __device__ void publish(unsigned count, unsigned base) {
#pragma unroll
    for (int i = 0; i < loads; ++i)
      if (slot(i) < count)
        chunk_.at[slot(i)] = {loaded_columns_[i] * row_bytes + base,
                              Element<F::traits.element>::to_float(loaded_values_[i])};
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
  __device__ unsigned slot(int i) const { return i * config.threads_per_row + lane_; }

  const Column* columns_;
  const Value* values_;
  const int* positions_;
  EntryChunk<F>& chunk_;
  unsigned lane_;
  Column loaded_columns_[loads] = {};
  Value loaded_values_[loads] = {};
};

}  // namespace vostok
