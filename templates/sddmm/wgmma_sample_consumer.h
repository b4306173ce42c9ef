// The warps of wgmma_sample that multiply. Four of them multiply 64 rows with a tile of B; each then gathers the sums of its 16 rows that the
// tile's list names.
#pragma once

#include "sddmm/strip_entries.h"
#include "sddmm/tensor_sample_output.h"
#include "sddmm/tensor_sample_walk.h"
#include "sddmm/wgmma_sample_product.h"
#include "sddmm/wgmma_sample_shared.h"

namespace vostok {

/// Lets warpgroups multiply in their order, again and again.
template <class F>
class Turn {
  static constexpr unsigned warpgroups = F::config.warpgroups;
  static constexpr bool exists = F::config.takes_turns && warpgroups > 1;

 public:
  __device__ Turn(const WgmmaSampleShared<F>& shared, unsigned warpgroup)
      : own_(shared.turn(warpgroup)), next_(shared.turn(warpgroup + 1 < warpgroups ? warpgroup + 1 : 0)), parity_(warpgroup == 0 ? 1 : 0) {}

  __device__ void wait() {
    if constexpr (exists) {
      wait_barrier(own_, parity_);
      parity_ ^= 1;
    }
  }

  /// Once what is left of the own products keeps the tensor cores busy until the next warpgroup has come.
  __device__ void pass() const {
    if constexpr (exists) {
      wait_multiplications<1>();
      if (threadIdx.x % 32 == 0) arrive(next_);
    }
  }

 private:
  unsigned own_;
  unsigned next_;
  unsigned parity_;
};

template <class F>
class SampleConsumer {
  static constexpr auto config = F::config;
  static constexpr unsigned strip_rows = 16;
  static constexpr unsigned octet_bytes = sample_octet_bytes(config.mode);

 public:
  __device__ SampleConsumer(const WgmmaSampleArgs& args, const SamplePart& part, const WgmmaSampleShared<F>& shared)
      : args_(args.sample), part_(part), shared_(shared), share_(TileShare::of_block(args)), turn_(shared, warpgroup()) {}

  __device__ void run() {
#pragma unroll 1
    for (unsigned number = 0; number < share_.count; ++number) {
      wait_full();
      const TileInfo<F>& info = shared_.info(info_.stage);
      if (info.tile.entries == 0) return;
      if constexpr (keeps_lhs(F::traits)) keep_lhs(info.tile.row_tile);
      const EntryRange entries = multiply(info);
      store_sums<F>(shared_.sums(), product_, first_row(), 0);
      __syncwarp();
      gather_sums<F>({args_, part_.matrix, part_.line}, args_.lists, info, shared_.sums(), {entries.begin + threadIdx.x % 32, entries.end, 32});
      arrive(shared_.info_free(info_.stage));  // every lane for what it has read
      __syncwarp();                            // the next tile's sums will lie where these are
      info_.advance();
    }
  }

 private:
  static __device__ unsigned warpgroup() { return threadIdx.x / 128; }
  /// The warp's first row in a tile.
  static __device__ unsigned first_row() { return threadIdx.x / 32 * strip_rows; }

  __device__ void wait_full() const { wait_barrier(shared_.full(place_.stage), place_.parity); }

  __device__ void keep_lhs(unsigned row_tile) {
    if (kept_row_tile_ == row_tile) return;
    kept_row_tile_ = row_tile;
    product_.keep(part_.octets<F>(args_, args_.lhs, row_tile * tile_rows(config) + first_row()));
  }

  /// The tile's first stage is full. Which entries are the warp's is found out while the last products are made.
  __device__ EntryRange multiply(const TileInfo<F>& info) {
    EntryRange own = {0, 0};
    product_.clear();
#pragma unroll 1
    for (unsigned block = 0; block < part_.block_count; ++block) {
      if (block > 0) wait_full();
      turn_.wait();
      product_.multiply(shared_.lhs(place_.stage) + warpgroup() * (warpgroup_rows / sample_octet_rows * octet_bytes), shared_.rhs(place_.stage));
      turn_.pass();
      if (block + 1 == part_.block_count) own = own_entries(info);
      wait_multiplications();
      if (threadIdx.x % 32 == 0) arrive(shared_.empty(place_.stage));
      place_.advance();
      product_.promote();
    }
    return own;
  }

  __device__ EntryRange own_entries(const TileInfo<F>& info) const {
    constexpr unsigned columns = tile_columns(config);
    const unsigned first = first_row() * columns;
    return entries_between(info.tile.entries, first, first + strip_rows * columns,
                           [&](unsigned entry) { return entry_place(args_.lists, info, entry); });
  }

  const TensorSampleArgs& args_;
  const SamplePart& part_;
  const WgmmaSampleShared<F>& shared_;
  TileShare share_;
  Turn<F> turn_;
  StagePlace<F> place_;
  InfoPlace<F> info_;
  WarpgroupProduct<F> product_;
  unsigned kept_row_tile_ = 0xffffffffU;
};

}  // namespace vostok
