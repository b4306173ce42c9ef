// How rows of A are dealt to the lanes of warps.
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
struct DealtRows {
  static constexpr auto config = F::config;
  static constexpr unsigned abreast = rows_abreast(config);
  static constexpr unsigned all_lanes = 0xffffffffU;
  static constexpr unsigned no_row = 0xffffffffU;
  static_assert(abreast * config.rows_per_lane <= 32, "a lane knows one of a warp's rows: there are at most 32");

  /// The row of a tile that the calling lane knows, or no_row.
  static __device__ unsigned dealt(const StagedRowsArgs& args, unsigned row_tile) {
    const unsigned lane = threadIdx.x % 32;
    if (lane >= abreast * config.rows_per_lane) return no_row;
    const unsigned long long slot = slot_of(args, row_tile, lane / abreast) * abreast + lane % abreast;
    if (slot >= args.product.m) return no_row;
    if constexpr (!config.row_swizzle) return static_cast<unsigned>(slot);
    return static_cast<unsigned>(load_global(args.row_order + slot));
  }

  /// The calling lane's row in a step, of what all lanes know.
  static __device__ unsigned row_of(unsigned known, unsigned step) {
    return __shfl_sync(all_lanes, known, lane_of(step));
  }

  static __device__ PanelSegment segment_of(const PanelSegment& known, unsigned step) {
    const unsigned lane = lane_of(step);
    return {__shfl_sync(all_lanes, known.begin, lane), __shfl_sync(all_lanes, known.end, lane)};
  }

  /// The place of a row's first entry in a panel or behind it; no row has none.
  static __device__ unsigned load_start(const StagedRowsArgs& args, unsigned row, unsigned panel) {
    if (row == no_row) return 0;
    const long long rows = args.product.m;
    return static_cast<unsigned>(load_global(args.panel_starts + static_cast<long long>(panel) * rows + row));
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
};

}  // namespace vostok
