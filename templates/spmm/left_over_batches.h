// What packed strips of grain four leave over (abi/packed_fours.h), of 16-bit elements, multiplied by wgmma like the
// strips themselves: sixteen entries of a warpgroup's 64 rows are a batch, as many columns of an A that is almost all
// zeros, beside the rows of B that they name. For each warpgroup one of the warps that copying leaves idle has those
// rows copied, batch after batch, while k blocks are multiplied (bench/notes/fours.md#batches).
//
// Batches are spread evenly over the k blocks beside which they are multiplied: so sums are the same in every run.
#pragma once

#include "abi/packed_fours.h"
#include "abi/unpack_wgmma.h"
#include "parts/async_copy.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/ordered_loads.h"
#include "parts/vector.h"
#include "parts/wgmma.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// By one thread, before the block's first barrier.
template <class F>
__device__ inline void initialise_batches(const UnpackWgmmaStages<F>& stages) {
#pragma unroll
  for (unsigned warpgroup = 0; warpgroup < left_collectors(F::config); ++warpgroup)
#pragma unroll
    for (unsigned i = 0; i < left_batches(); ++i) {
      initialise_barrier(stages.ready_batch(warpgroup, i), 64);
      initialise_barrier(stages.free_batch(warpgroup, i), 128);
    }
}

/// The entries of a warpgroup's rows that are a tile's: those of its slice of k.
template <class F>
struct LeftOverShare {
  const unsigned* row_starts;  ///< of the warpgroup's first row
  unsigned first;
  unsigned count;

  __device__ LeftOverShare(const LeftOver& left_over, const UnpackTile<F>& tile, unsigned warpgroup) {
    constexpr unsigned rows = 4 * packed_strip_rows();
    row_starts = left_over.row_starts + (tile.first_strip() + 4 * warpgroup) * packed_strip_rows();
    const unsigned begin = load_ahead(row_starts), all = load_ahead(row_starts + rows) - begin;
    const unsigned before = packed_left_before(all, tile.slice, F::config.k_split);
    first = begin + before;
    count = packed_left_before(all, tile.slice + 1, F::config.k_split) - before;
  }

  __device__ unsigned batches() const { return (count + left_batch_rows() - 1) / left_batch_rows(); }
};

/// The warp that collects the batches of a warpgroup.
template <class F>
class LeftOverCollector {
  static constexpr auto config = F::config;
  static constexpr unsigned octets = config.tile_columns / 8;
  static_assert(octets >= 8 && octets <= 32, "a lane copies an octet of columns, and batches are planes of eight");
  using Entry = Vector<unsigned, 2>;  // a LeftEntry
  using Stored = typename Element<F::traits.element>::Storage;

 public:
  __device__ LeftOverCollector(const UnpackWgmmaStages<F>& stages, unsigned warpgroup)
      : stages_(stages), warpgroup_(warpgroup) {}

  /// Of a tile. The launch before has to have ended: it may have packed A, and made B.
  __device__ void collect(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile) {
    const LeftOver left_over = packed_set(args.strips, tile.product).left_over;
    const LeftOverShare<F> share(left_over, tile, warpgroup_);
    unsigned strip_ends[3];
#pragma unroll
    for (unsigned i = 0; i < 3; ++i) strip_ends[i] = load_ahead(share.row_starts + (i + 1) * packed_strip_rows());
    const Entry* const entries = reinterpret_cast<const Entry*>(left_over.entries) + share.first;
    const Rows rows(args, tile);
    Entry next = load(entries, 0, share.count);
#pragma unroll 1
    for (unsigned first = 0; first < share.count; first += left_batch_rows()) {
      const Entry own = next;
      next = load(entries, first + left_batch_rows(), share.count);
      wait_barrier(stages_.free_batch(warpgroup_, batch_.stage), batch_.parity ^ 1);
      if (lane() < left_batch_rows()) {
        unsigned row = packed_left_row(own.at[0]);
#pragma unroll
        for (const unsigned end : strip_ends)
          if (share.first + first + lane() >= end) row += packed_strip_rows();
        store_shared_pair(stages_.batch_list(warpgroup_, batch_.stage) + 8 * lane(), {row, own.at[1]});
      }
      copy_rows(rows, packed_left_column(own.at[0]), share.count - first);
      arrive(stages_.ready_batch(warpgroup_, batch_.stage));
      arrive_after_copies(stages_.ready_batch(warpgroup_, batch_.stage));
      batch_.advance();
    }
  }

 private:
  static __device__ unsigned lane() { return threadIdx.x % 32; }

  static __device__ Entry load(const Entry* entries, unsigned first, unsigned count) {
    // Packing may have been the launch before: not by the read-only path.
    return lane() < left_batch_rows() && first + lane() < count ? load_own(entries + first + lane()) : Entry{};
  }

  /// The lane's octet of the tile's columns, in every row of B.
  struct Rows {
    const Stored* first;
    long long step;
    int bytes;  ///< that the matrix has of it

    __device__ Rows(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile) : step(args.dense_leading) {
      const long long column = tile.first_column() + lane() * 8, left = args.n - column;
      first = static_cast<const Stored*>(args.dense) + tile.product * args.dense_stride + column;
      bytes = left >= 8 ? 16 : left > 0 ? static_cast<int>(left) * 2 : 0;
    }
  };

  /// The rows of B that the first `left` lanes' columns name; zeros for others, whose values are zeros too.
  __device__ void copy_rows(const Rows& rows, unsigned own_column, unsigned left) const {
    const unsigned batch = stages_.batch(warpgroup_, batch_.stage) + lane() / 8 * left_plane_bytes();
#pragma unroll 4
    for (unsigned slot = 0; slot < left_batch_rows(); ++slot) {
      const unsigned column = __shfl_sync(0xffffffff, own_column, slot);
      if (lane() < octets)
        copy_async<16>(SharedAddress{batch + slot * split_line_bytes() + (lane() % 8 ^ slot % 8) * 16},
                       rows.first + column * rows.step, slot < left ? rows.bytes : 0);
    }
  }

  UnpackWgmmaStages<F> stages_;
  unsigned warpgroup_;
  RingPlace<left_batches()> batch_;
};

/// Where nothing is left over, or it comes otherwise.
struct NoBatches {
  template <class Stages>
  __device__ NoBatches(const Stages&, unsigned) {}
  template <class Args, class Tile>
  __device__ void enter(const Args&, const Tile&) {}
  __device__ void begin() {}
  static constexpr bool due() { return false; }
  template <class Sum>
  __device__ void settle(Sum&) {}
};

/// The batches of a warp that multiplies.
template <class F>
class LeftOverBatches {
  using Value = Element<F::traits.element>;

 public:
  /// `strip` of the tile.
  __device__ LeftOverBatches(const UnpackWgmmaStages<F>& stages, unsigned strip)
      : stages_(stages), warpgroup_(strip / 4), first_row_(strip % 4 * packed_strip_rows()) {}

  /// Goes to a tile.
  __device__ void enter(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile) {
    batches_ = LeftOverShare<F>(packed_set(args.strips, tile.product).left_over, tile, warpgroup_).batches();
    blocks_ = tile.block_count(args);
    passed_ = 0;
  }

  /// Before a k block. So many batches come beside each that all are evenly spread, and none comes after the last.
  __device__ void begin() { passed_ += batches_; }
  __device__ bool due() const { return passed_ >= blocks_; }

  /// Waits for the next one. Its A-fragment: the values of sixteen entries, each in a column of its own.
  __device__ void take(unsigned (&a)[4]) const {
    wait_barrier(stages_.ready_batch(warpgroup_, place_.stage), place_.parity);
    // cp.async writes as threads do.
    publish_to_async_proxy();
    const unsigned lane = threadIdx.x % 32;
    const unsigned list = stages_.batch_list(warpgroup_, place_.stage) + lane % 4 * 16;
#pragma unroll
    for (unsigned half = 0; half < 2; ++half) {
      const Vector<float, 4> two = load_shared_four(list + half * 64);
#pragma unroll
      for (unsigned upper = 0; upper < 2; ++upper) {
        const unsigned row = first_row_ + lane / 4 + 8 * upper;
        const auto value = [&](int i) { return __float_as_uint(two.at[i]) == row ? two.at[i + 1] : 0.0F; };
        a[2 * half + upper] = Value::pair_from_float(value(0), value(2));
      }
    }
  }

  /// The rows of B beside it.
  __device__ unsigned long long dense() const {
    return dense_descriptor(stages_.batch(warpgroup_, place_.stage), left_plane_bytes());
  }

  /// Once the k block's products have come: gives the batch back, and has further ones multiplied.
  template <class Sum>
  __device__ void settle(Sum& sum) {
    if (!due()) return;
    give_back();
    while (due()) {
      sum.multiply_further(*this);
      give_back();
    }
  }

 private:
  __device__ void give_back() {
    arrive(stages_.free_batch(warpgroup_, place_.stage));
    place_.advance();
    passed_ -= blocks_;
  }

  UnpackWgmmaStages<F> stages_;
  unsigned warpgroup_;
  unsigned first_row_;  ///< of the warp, in the warpgroup
  RingPlace<left_batches()> place_;
  unsigned batches_ = 0;  ///< of the tile, beside so many k blocks
  unsigned blocks_ = 0;
  unsigned passed_ = 0;  ///< batches times k blocks that began, less blocks times batches that were given back
};

}  // namespace vostok
