// Which rows of A a warp has, and where their entries of a panel lie, panel after panel.
#pragma once

#include "abi/staged_rows.h"
#include "spmm/dealt_rows.h"

namespace vostok {

/// The rows of a tile that a warp has, and their entries in a panel and the next.
template <class F>
class WarpRows : public DealtRows<F> {
  using Deal = DealtRows<F>;

 public:
  __device__ WarpRows(const StagedRowsArgs& args, unsigned row_tile) : args_(args), row_(Deal::dealt(args, row_tile)) {}

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
  __device__ unsigned row(unsigned step) const { return Deal::row_of(row_, step); }

  /// Its entries in this panel; of step rows_per_lane those of the first step in the next panel.
  __device__ PanelSegment segment(unsigned step) const {
    const bool next = step == F::config.rows_per_lane;
    return Deal::segment_of({next ? end_ : begin_, next ? next_end_ : end_}, next ? 0 : step);
  }

 private:
  __device__ unsigned load_start(unsigned panel) const { return Deal::load_start(args_, row_, panel); }

  const StagedRowsArgs& args_;
  unsigned row_;
  unsigned panel_ = 0;
  unsigned slice_end_ = 0;
  unsigned begin_ = 0;
  unsigned end_ = 0;
  unsigned next_end_ = 0;  ///< of the next panel's entries, long before they are looked at
};

}  // namespace vostok
