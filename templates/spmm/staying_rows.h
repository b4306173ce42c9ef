// Which rows of A a warp has where B stays, round after round: what is known of them is loaded before it is asked for.
//
// A row's number, its entries' places, the entries and what they multiply are each loaded by what the load before
// brought. A round loads the first entries of the next one: places are loaded two rounds ahead, numbers three, so that
// it waits for neither.
#pragma once

#include "spmm/dealt_rows.h"

namespace vostok {

template <class F>
class StayingRows : public DealtRows<F> {
  using Deal = DealtRows<F>;
  static constexpr unsigned rows = F::config.rows_per_lane;
  static constexpr unsigned places_known = 3;  ///< rounds

 public:
  /// Of the tiles of a group.
  __device__ StayingRows(const StagedRowsArgs& args, unsigned group)
      : args_(args), tile_(group * F::config.row_rounds), end_(tile_ + F::config.row_rounds) {
    if (end_ > args.row_tiles) end_ = args.row_tiles;
  }

  __device__ void start() {
#pragma unroll
    for (unsigned i = 0; i < places_known; ++i) rows_[i] = row_in(tile_ + i);
    coming_row_ = row_in(tile_ + places_known);
#pragma unroll
    for (unsigned i = 0; i < places_known; ++i) segments_[i] = load_segment(rows_[i]);
  }

  /// Goes on to the next round: whether there is one.
  __device__ bool advance() {
    ++tile_;
#pragma unroll
    for (unsigned i = 0; i + 1 < places_known; ++i) {
      rows_[i] = rows_[i + 1];
      segments_[i] = segments_[i + 1];
    }
    rows_[places_known - 1] = coming_row_;
    segments_[places_known - 1] = load_segment(coming_row_);
    coming_row_ = row_in(tile_ + places_known);
    return tile_ < end_;
  }

  /// The calling lane's row in a step of this round, or no_row.
  __device__ unsigned row(unsigned step) const { return Deal::row_of(rows_[0], step); }

  /// Its entries; of step rows_per_lane and more those of the first steps in the next round.
  __device__ PanelSegment segment(unsigned step) const { return Deal::segment_of(segments_[step / rows], step % rows); }

 private:
  __device__ unsigned row_in(unsigned tile) const { return tile < end_ ? Deal::dealt(args_, tile) : Deal::no_row; }

  __device__ PanelSegment load_segment(unsigned row) const {
    return {Deal::load_start(args_, row, 0), Deal::load_start(args_, row, 1)};
  }

  const StagedRowsArgs& args_;
  unsigned tile_;
  unsigned end_;
  unsigned rows_[places_known];  ///< of this round and those that follow
  PanelSegment segments_[places_known];
  unsigned coming_row_;
};

}  // namespace vostok
