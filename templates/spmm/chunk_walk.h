// A chunk's way through its nonzeros and row ends.
#pragma once

#include "abi/nonzero_split.h"
#include "parts/opaque.h"
#include "spmm/pieces.h"
#include "spmm/row_output.h"

namespace vostok {

struct Chunk {
  ChunkStart start;
  ChunkStart stop;
  bool continues_row;  ///< it starts inside a row
  bool leaves_row;     ///< it stops inside a row, which may be the same

  /// Past the last one, chunks are empty: their lanes take part in synchronisation and do nothing else.
  static __device__ Chunk load(const NonzeroSplitArgs& args, unsigned number) {
    const bool exists = number < args.chunk_count;
    Chunk chunk;
    chunk.start = load_global(args.chunks + (exists ? number : args.chunk_count));
    chunk.stop = load_global(args.chunks + (exists ? number + 1 : args.chunk_count));
    chunk.continues_row = exists && static_cast<unsigned>(chunk.start.first) != number;
    chunk.leaves_row = exists && static_cast<unsigned>(chunk.stop.first) != number + 1;
    return chunk;
  }

  /// How many rows end in it.
  __device__ unsigned row_ends() const { return static_cast<unsigned>(stop.row - start.row); }
};

/// Bits [begin, end) of a word, end below 32.
__device__ inline unsigned bits(unsigned begin, unsigned end) { return (1U << end) - (1U << begin); }

/// Adds products to the sum of the row that they are of, and stores each row as it ends: in C, or, where an earlier
/// chunk began it, as the chunk's `head` piece. What is left in the sum at the end is of the row that the chunk leaves.
template <class F>
class ChunkWalk {
 public:
  __device__ ChunkWalk(const CsrProductArgs& args, const Operands<F>& operands, const LaneColumns<F>& columns,
                       const Chunk& chunk, SharedPiece<F>& head, unsigned lane)
      : args_(args),
        operands_(operands),
        columns_(columns),
        head_(head),
        lane_(lane),
        sum_(args, operands, columns),
        position_(static_cast<unsigned>(chunk.start.position)),
        stop_(static_cast<unsigned>(chunk.stop.position)),
        row_(static_cast<unsigned>(chunk.start.row)),
        row_ends_(chunk.row_ends()),
        continues_row_(chunk.continues_row) {
    if (row_ends_ > 0) row_end_ = static_cast<unsigned>(chunk.start.row_end);
    load_next_end();
  }

  __device__ const RowSum<F>& sum() const { return sum_; }
  __device__ RowSum<F>& sum() { return sum_; }

  /// Takes the batch whose first entry is at `first`, row by row; the entries before this chunk's and behind them are
  /// not touched.
  __device__ void add(typename RowSum<F>::template Loaded<F::config.loads_in_flight>& loaded, unsigned first) {
    constexpr unsigned count = F::config.loads_in_flight;
    const unsigned batch_end = stop_ - first < count ? stop_ : first + count;
#pragma unroll 1
    for (;;) {
#pragma unroll 1
      while (row_end_ == position_) end_row();
      if (position_ == batch_end) return;
      keep_as_loaded(loaded);
      const unsigned until = row_end_ < batch_end ? row_end_ : batch_end;
      if (until - position_ == count) sum_.add(loaded);
      else sum_.add_some(loaded, bits(position_ - first, until - first));
      position_ = until;
    }
  }

 private:
  static constexpr unsigned no_end = 0xffffffffU;

  /// 16-bit elements stay in pairs until they are multiplied, through however many rows a batch reaches.
  template <class Loaded>
  static __device__ void keep_as_loaded(Loaded& loaded) {
    if constexpr (size_of(F::traits.element) == 2) {
#pragma unroll
      for (auto& entry : loaded.dense)
#pragma unroll
        for (auto& part : entry) make_opaque(part);
    }
  }

  /// The row's end is known; the one after it is loaded long before it is looked at.
  __device__ void load_next_end() {
    if (row_ends_ > 1) next_end_ = row_offset<F>(args_, row_ + 2);
  }

  __device__ void end_row() {
    if (continues_row_) store_piece(sum_, head_, lane_);
    else store_row(sum_, args_, operands_, columns_, row_, true);
    continues_row_ = false;
    sum_.clear();
    ++row_;
    --row_ends_;
    row_end_ = row_ends_ > 0 ? next_end_ : no_end;
    load_next_end();
  }

  const CsrProductArgs& args_;
  const Operands<F>& operands_;
  const LaneColumns<F>& columns_;
  SharedPiece<F>& head_;
  unsigned lane_;
  RowSum<F> sum_;
  unsigned position_;           ///< of the next entry
  unsigned stop_;               ///< past the last one
  unsigned row_;                ///< that the next entry is of
  unsigned row_ends_;           ///< still to come
  unsigned row_end_ = no_end;   ///< of the row, where it ends in this chunk
  unsigned next_end_ = no_end;  ///< of the row after it, likewise
  bool continues_row_;
};

}  // namespace vostok
