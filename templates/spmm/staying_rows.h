// Which rows of A a warp has where B stays, round after round: what is known of them is loaded before it is asked for.
//
// A row's number, its entries' places, the entries and what they multiply are each loaded by what the load before
// brought. Numbers are loaded two rounds ahead, places one, so that a round waits for neither.
#pragma once

#include "spmm/dealt_rows.h"

namespace vostok {

template <class F>
class StayingRows : public DealtRows<F> {
  using Deal = DealtRows<F>;
  static constexpr unsigned rows = F::config.rows_per_lane;

 public:
  /// Of the tiles of a group.
  __device__ StayingRows(const StagedRowsArgs& args, unsigned group)
      : args_(args), tile_(group * F::config.row_rounds), end_(tile_ + F::config.row_rounds) {
    if (end_ > args.row_tiles) end_ = args.row_tiles;
  }

  __device__ void start() {
    row_ = row_in(tile_);
    next_row_ = row_in(tile_ + 1);
    later_row_ = row_in(tile_ + 2);
    segment_ = load_segment(row_);
    next_ = load_segment(next_row_);
  }

  /// Goes on to the next round: whether there is one.
  __device__ bool advance() {
    ++tile_;
    row_ = next_row_;
    segment_ = next_;
    next_row_ = later_row_;
    next_ = load_segment(next_row_);
    later_row_ = row_in(tile_ + 2);
    return tile_ < end_;
  }

  /// The calling lane's row in a step of this round, or no_row.
  __device__ unsigned row(unsigned step) const { return Deal::row_of(row_, step); }

  /// Its entries; of step rows_per_lane and more those of the first steps in the next round.
  __device__ PanelSegment segment(unsigned step) const {
    return step < rows ? Deal::segment_of(segment_, step) : Deal::segment_of(next_, step - rows);
  }

 private:
  __device__ unsigned row_in(unsigned tile) const { return tile < end_ ? Deal::dealt(args_, tile) : Deal::no_row; }

  __device__ PanelSegment load_segment(unsigned row) const {
    return {Deal::load_start(args_, row, 0), Deal::load_start(args_, row, 1)};
  }

  const StagedRowsArgs& args_;
  unsigned tile_;
  unsigned end_;
  unsigned row_ = Deal::no_row;
  unsigned next_row_ = Deal::no_row;
  unsigned later_row_ = Deal::no_row;
  PanelSegment segment_ = {};
  PanelSegment next_ = {};
};

}  // namespace vostok
