// Which rows of A a warp has, and where their entries of a panel lie.
#pragma once

#include "abi/staged_rows.h"
#include "parts/loads.h"

namespace vostok {

/// Entries of a row in a panel: places in CSR order.
struct PanelSegment {
  unsigned begin;
  unsigned end;
};

/// The rows of a warp: in each of rows_per_lane steps it takes rows_abreast of them. A lane knows one of them for all.
template <class F>
class WarpRows {
  static constexpr auto config = F::config;
  static constexpr unsigned abreast = rows_abreast(config);
  static constexpr unsigned all_lanes = 0xffffffffU;
  static_assert(abreast * config.rows_per_lane <= 32, "a lane knows one of a warp's rows: there are at most 32");

 public:
  static constexpr unsigned no_row = 0xffffffffU;

  __device__ WarpRows(const StagedRowsArgs& args, unsigned row_tile) : starts_(args.panel_starts), m_(args.product.m) {
    const unsigned lane = threadIdx.x % 32;
    if (lane >= abreast * config.rows_per_lane) return;
    const unsigned long long slot = slot_of(args, row_tile, lane / abreast) * abreast + lane % abreast;
    if (slot >= m_) return;
    row_ = static_cast<unsigned>(slot);
    if constexpr (config.row_swizzle) row_ = static_cast<unsigned>(load_global(args.row_order + slot));
  }

  /// Starts with a panel; the slice ends before `end`.
  __device__ void start(unsigned panel, unsigned end) {
    panel_ = panel;
    slice_end_ = end;
    begin_ = load_start(panel);
    end_ = load_start(panel + 1);
    next_end_ = panel + 1 < end ? load_start(panel + 2) : end_;
  }

  /// Goes on to the next panel.
  __device__ void advance() {
    ++panel_;
    begin_ = end_;
    end_ = next_end_;
    if (panel_ + 1 < slice_end_) next_end_ = load_start(panel_ + 2);
  }

  /// The calling lane's row in a step, or no_row.
  __device__ unsigned row(unsigned step) const { return __shfl_sync(all_lanes, row_, lane_of(step)); }

  /// Its entries in this panel; of step rows_per_lane those of the first step in the next panel.
  __device__ PanelSegment segment(unsigned step) const {
    const bool next = step == config.rows_per_lane;
    const unsigned lane = lane_of(next ? 0 : step);
    return {__shfl_sync(all_lanes, next ? end_ : begin_, lane), __shfl_sync(all_lanes, next ? next_end_ : end_, lane)};
  }

 private:
  /// Neighbours in the order of length are abreast in a warp. Every other step deals backwards.
  static __device__ unsigned long long slot_of(const StagedRowsArgs& args, unsigned row_tile, unsigned step) {
    const unsigned warp = threadIdx.x / 32;
    if constexpr (!config.row_swizzle)
      return (static_cast<unsigned long long>(row_tile) * config.warps + warp) * config.rows_per_lane + step;
    const unsigned long long warps = static_cast<unsigned long long>(args.row_tiles) * config.warps;
    const unsigned long long place = static_cast<unsigned long long>(warp) * args.row_tiles + row_tile;
    return step * warps + (step % 2 == 0 ? place : warps - 1 - place);
  }

  static __device__ unsigned lane_of(unsigned step) {
    return step * abreast + threadIdx.x % 32 / config.threads_per_row;
  }

  __device__ unsigned load_start(unsigned panel) const {
    return row_ == no_row ? 0 : static_cast<unsigned>(load_global(starts_ + static_cast<long long>(panel) * m_ + row_));
  }

  const int* starts_;
  unsigned m_;
  unsigned row_ = no_row;
  unsigned panel_ = 0;
  unsigned slice_end_ = 0;
  unsigned begin_ = 0;
  unsigned end_ = 0;
  unsigned next_end_ = 0;  ///< of the next panel's entries, long before they are looked at
};

}  // namespace vostok
