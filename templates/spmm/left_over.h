// What packed strips of grain four leave over of a warp's 16 rows (abi/packed_fours.h), multiplied in f32 with B as it
// lies: without tensor cores, and exact but for the rounding of sums. Of 16 bits it is left_over_batches.h's.
//
// A warp takes the entries of its rows one after the other, all lanes the same one, each with columns of its own that
// lie side by side: rows of B are read in whole lines, two batches of them on their way. A row's sums go to the lanes
// that have its accumulators by way of shared memory, once for each row. All this comes before the first k block, while
// its copies are on their way and registers are free; between k blocks it would lengthen every one of them
// (bench/notes/fours.md#what-is-left-over).
#pragma once

#include "abi/packed_fours.h"
#include "abi/unpack_wgmma.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/opaque.h"
#include "parts/ordered_loads.h"
#include "parts/vector.h"

namespace vostok {

/// The entries of a strip that are a part's, of several parts of k.
template <class F>
class LeftOverEntries {
  static constexpr unsigned parts = F::config.k_split * F::config.k_groups;

 public:
  using Entry = Vector<unsigned, 2>;     // a LeftEntry
  static constexpr unsigned chunk = 32;  ///< entries that a warp loads at once

  /// `first_row` of the strip.
  __device__ LeftOverEntries(const LeftOver& left_over, long long first_row, unsigned part) {
    const unsigned first = load_global(left_over.row_starts + first_row);
    const unsigned count = load_global(left_over.row_starts + first_row + packed_strip_rows()) - first;
    const unsigned before = packed_left_before(count, part, parts);
    entries_ = reinterpret_cast<const Entry*>(left_over.entries) + (first + before);
    count_ = packed_left_before(count, part + 1, parts) - before;
  }

  __device__ unsigned count() const { return count_; }

  /// The lane's of the chunk from this one on; zeros past the last.
  __device__ Entry load(unsigned first) const {
    const unsigned own = first + threadIdx.x % chunk;
    // Packing may have been the launch before: not by the read-only path.
    return own < count_ ? load_own(entries_ + own) : Entry{};
  }

 private:
  const Entry* entries_;
  unsigned count_;
};

template <class F>
class LeftOverProducts {
  static constexpr auto config = F::config;
  static constexpr int columns = left_lane_columns(config);  ///< of a lane, side by side
  static constexpr int vector = F::traits.dense_vector;
  static constexpr int octets = config.tile_columns / 8;
  /// Entries whose rows of B are asked for at once.
  static constexpr unsigned together = columns > 4 ? 4 : 8;
  using Value = Element<F::traits.element>;
  using Stored = typename Value::Storage;
  using Loaded = Vector<Stored, vector>;
  using Entries = LeftOverEntries<F>;
  using Entry = typename Entries::Entry;

 public:
  /// `first_column` of the tile; `scratch`: a row of the tile in shared memory, the warp's
  /// own.
  __device__ LeftOverProducts(const UnpackWgmmaArgs& args, const Entries& entries, unsigned product,
                              long long first_column, unsigned scratch)
      : args_(args), entries_(entries), scratch_(scratch) {
    const long long column = first_column + static_cast<long long>(threadIdx.x % 32) * columns;
    dense_ = static_cast<const Stored*>(args.whole_dense.first) + product * args.whole_dense.stride +
             column * args.whole_dense.column_step;
    const long long last = first_column + config.tile_columns < args.n ? first_column + config.tile_columns : args.n;
    columns_ = column < last ? static_cast<int>(last - column) : 0;
    next_chunk_ = entries_.load(0);
  }

  /// Adds every row's sums to `sum`.
  template <class Sum>
  __device__ void add_to(Sum& sum) {
    if (entries_.count() == 0) return;
    Batch even;
    Batch odd;
    ask(even);
#pragma unroll 1
    for (;;) {
      ask(odd);
      multiply(even, sum);
      if (odd.count == 0) break;
      ask(even);
      multiply(odd, sum);
      if (even.count == 0) break;
    }
    deliver(sum);
  }

 private:
  struct Batch {
    unsigned count;
    Entry entries[together];
    Loaded rows[together][columns / vector];
  };

  /// The next entries, and their rows of B.
  __device__ void ask(Batch& batch) {
    if (asked_ % Entries::chunk == 0) {
      chunk_ = next_chunk_;
      next_chunk_ = entries_.load(asked_ + Entries::chunk);
    }
    const unsigned left = entries_.count() - asked_;
    batch.count = left < together ? left : together;
#pragma unroll
    for (unsigned i = 0; i < together; ++i) {
#pragma unroll
      for (int word = 0; word < 2; ++word)
        batch.entries[i].at[word] = __shfl_sync(0xffffffff, chunk_.at[word], asked_ % Entries::chunk + i);
      const Stored* row = dense_ + packed_left_column(batch.entries[i].at[0]) * args_.whole_dense.row_step;
      make_global_opaque(row);  // else every load computes it anew
#pragma unroll
      for (int j = 0; j < columns / vector; ++j) {
        batch.rows[i][j] = {};
        if (i >= batch.count || j * vector >= columns_) continue;
        if constexpr (vector > 1) batch.rows[i][j] = load_global(reinterpret_cast<const Loaded*>(row + j * vector));
        else batch.rows[i][j].at[0] = load_global(row + j * args_.whole_dense.column_step);
      }
    }
    asked_ += batch.count;
  }

  template <class Sum>
  __device__ void multiply(const Batch& batch, Sum& sum) {
#pragma unroll
    for (unsigned i = 0; i < together; ++i) {
      if (i >= batch.count) break;
      const unsigned row = packed_left_row(batch.entries[i].at[0]);
      if (row != row_) deliver(sum);
      row_ = row;
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const float b = Value::to_float(batch.rows[i][j / vector].at[j % vector]);
        sums_[j] = fmaf(__uint_as_float(batch.entries[i].at[1]), b, sums_[j]);
        if constexpr (Sum::defers_factors) largest_ = fmaxf(largest_, fabsf(b));
      }
    }
  }

  /// The row's sums to the lanes that have its accumulators.
  template <class Sum>
  __device__ void deliver(Sum& sum) {
    const unsigned lane = threadIdx.x % 32;
    if (lane * columns < config.tile_columns) {
#pragma unroll
      for (int j = 0; j < columns; ++j) store_shared(scratch_ + (lane * columns + j) * 4, sums_[j]);
    }
    __syncwarp();
    if constexpr (Sum::defers_factors) sum.expect_left_over(largest_);
#pragma unroll
    for (int upper = 0; upper < 2; ++upper) {
      if (lane / 4 + 8 * upper != row_) continue;
#pragma unroll
      for (int octet = 0; octet < octets; ++octet)
        sum.add_left_over(upper, octet, load_shared_pair(scratch_ + octet * 32 + lane % 4 * 8));
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < columns; ++j) sums_[j] = 0;
  }

  const UnpackWgmmaArgs& args_;
  const Entries entries_;
  const Stored* dense_;  ///< the lane's first column
  unsigned scratch_;
  int columns_;  ///< that B has from that one on
  unsigned asked_ = 0;
  Entry chunk_ = {};  ///< of the entries asked for next, one for each lane; then of those after them
  Entry next_chunk_ = {};
  unsigned row_ = 0;  ///< whose sums these are
  float sums_[columns] = {};
  float largest_ = 0;  ///< magnitude of B that was multiplied, where it is asked for
};

}  // namespace vostok
