// The warps of wgmma_sample that multiply. Four of them multiply 64 rows with a tile of B; each gathers the sums of its
// 16 rows that the tile's list names, while the next tile's products are made.
#pragma once

#include "parts/named_barrier.h"
#include "sddmm/tensor_sample_output.h"
#include "sddmm/tensor_sample_walk.h"
#include "sddmm/tf32_product.h"
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
      : own_(shared.turn(warpgroup)),
        next_(shared.turn(warpgroup + 1 < warpgroups ? warpgroup + 1 : 0)),
        parity_(warpgroup == 0 ? 1 : 0) {}

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
  static constexpr unsigned octet_bytes = sample_octet_bytes(config.mode);

 public:
  __device__ SampleConsumer(const WgmmaSampleArgs& args, const SamplePart& part, const WgmmaSampleShared<F>& shared)
      : args_(args.sample),
        part_(part),
        shared_(shared),
        share_(TileShare::of_block(args)),
        turn_(shared, warpgroup()) {}

  __device__ void run() {
    if constexpr (F::traits.one_block) run_overlapped();
    else run_in_turn();
  }

 private:
  /// A tile's products are made while the sums of the tile before are gathered.
  __device__ void run_overlapped() {
    if (!comes_next()) return;
    queue_block();
    finish_block();
    lay_sums();
#pragma unroll 1
    while (comes_next()) {
      queue_block();
      gather();
      finish_block();
      lay_sums();
    }
    gather();
  }

  __device__ void run_in_turn() {
#pragma unroll 1
    while (comes_next()) {
      product_.clear();
      if constexpr (splits_operands(config)) multiply_split_blocks();
      else multiply_blocks();
      if constexpr (!sums_follow_stages(F::traits, config)) wait_at_barrier<1, 32 * consumer_warps(config)>();
      lay_sums();
      gather();
    }
  }

  /// All n blocks of a tile. A block's products are queued while those of the one before are made, but where sums are
  /// taken out in between.
  __device__ void multiply_blocks() {
#pragma unroll 1
    for (unsigned left = part_.block_count; left > 0;) {
      const unsigned together =
          config.promotion_blocks == 0 || left < config.promotion_blocks ? left : config.promotion_blocks;
      left -= together;
      queue_block<false>();
#pragma unroll 1
      for (unsigned block = 1; block < together; ++block) {
        queue_block<true>();
        wait_multiplications<WarpgroupProduct<F>::groups>();
        release_stage();
      }
      finish_block();
      product_.promote();
    }
  }

  /// All n blocks of a tile, two stages each, of which A comes through registers: a stage's is taken there while the
  /// products of the one before are made.
  __device__ void multiply_split_blocks() {
    take_lhs<0>();
#pragma unroll 1
    for (unsigned left = part_.block_count; left > 1; --left) multiply_split_block<true>();
    multiply_split_block<false>();
  }

  template <bool continues>
  __device__ void multiply_split_block() {
    static_assert(block_stages(config) == 2, "an n block has two stages, of which both are kept");
    queue_stage<0>();
    take_lhs<1>();
    queue_stage<1>();
    wait_multiplications<1>();
    release_stage();
    if constexpr (continues) take_lhs<0>();
    else if constexpr (sums_magnitudes(F::traits, config)) note_magnitudes();
    finish_block();
    product_.promote();
  }

  /// Of the stage that is queued next.
  template <int half>
  __device__ void take_lhs() {
    wait_barrier(shared_.full(place_.stage), place_.parity);
    product_.template take<half>(shared_.lhs(place_.stage) + first_row() * split_line_bytes());
  }

  /// How large the warp's rows of the tile are.
  __device__ void note_magnitudes() {
    const unsigned lane = threadIdx.x % 32;
    const unsigned upper = magnitude_code(product_.row_magnitudes(0));
    const unsigned lower = magnitude_code(product_.row_magnitudes(1));
    if (lane % 4 < 2)
      shared_.info(info_.stage).set_row_code(first_row() + lane / 4 + lane % 4 * 8, lane % 4 == 0 ? upper : lower);
    largest_row_ = max(upper, lower);
  }

  /// From which magnitude on the warp's sums are good.
  __device__ float sure_sum(const TileInfo<F>& info) const {
    if constexpr (sums_magnitudes(F::traits, config)) {
      unsigned largest = largest_row_;
#pragma unroll
      for (unsigned first = threadIdx.x % 32; first < tile_columns(config); first += 32)
        largest = max(largest, info.column_code(first));
      return SampleCertificate<F>::bar_of_code(static_cast<unsigned>(warp_largest(static_cast<int>(largest))));
    } else {
      return info.sure_sum;
    }
  }

  template <int half>
  __device__ void queue_stage() {
    wait_barrier(shared_.split(place_.stage), place_.parity);
    product_.template multiply<half>(shared_.rhs(place_.stage), shared_.low_rhs(place_.stage));
    place_.advance();
  }

  static __device__ unsigned warpgroup() { return threadIdx.x / 128; }
  /// The warp's strip of a tile, and its first row.
  static __device__ unsigned strip() { return threadIdx.x / 32; }
  static __device__ unsigned first_row() { return strip() * sample_strip_rows(); }

  /// Whether there is one more tile, whose A is then there where it stays.
  __device__ bool comes_next() {
    if (number_ == share_.count) return false;
    ++number_;
    wait_barrier(shared_.listed(next_.stage), next_.parity);
    const SampleTile& tile = shared_.info(next_.stage).tile;
    if (tile.entries == 0) return false;
    if constexpr (keeps_lhs(F::traits)) keep_lhs(tile.row_tile);
    next_.advance();
    return true;
  }

  /// No products are under way.
  __device__ void keep_lhs(unsigned row_tile) {
    if (kept_row_tile_ == row_tile) return;
    kept_row_tile_ = row_tile;
    product_.keep(part_.octets<F>(args_, args_.lhs, row_tile * tile_rows(config) + first_row()));
  }

  template <bool adds = false>
  __device__ void queue_block() {
    wait_barrier(shared_.full(place_.stage), place_.parity);
    turn_.wait();
    product_.template multiply<adds>(
        shared_.lhs(place_.stage) + warpgroup() * (warpgroup_rows() / sample_octet_rows() * octet_bytes),
        shared_.rhs(place_.stage));
    turn_.pass();
    place_.advance();
  }

  __device__ void finish_block() {
    wait_multiplications();
    release_stage();
  }

  /// The stage of the oldest block that is queued, whose products are made.
  __device__ void release_stage() {
    if (threadIdx.x % 32 == 0) arrive(shared_.empty(made_.stage));
    made_.advance();
  }

  __device__ void lay_sums() {
    store_sums<F>(shared_.sums(), product_, first_row(), 0);
    __syncwarp();
  }

  /// Stores what the list names of the sums that lie in shared memory.
  __device__ void gather() {
    wait_barrier(shared_.found(info_.stage), info_.parity);
    const unsigned* const begins = shared_.strip_begins(info_.stage) + strip();
    const TileInfo<F>& info = shared_.info(info_.stage);
    gather_sums<F>({args_, part_.matrix, part_.line}, {args_, part_, info, sure_sum(info)}, args_.lists, info,
                   shared_.sums(), {begins[0] + threadIdx.x % 32, begins[1], 32});
    // The copy engine may write where sums were.
    if constexpr (!sums_follow_stages(F::traits, config)) publish_to_async_proxy();
    arrive(shared_.info_free(info_.stage));  // every lane for what it has read
    __syncwarp();                            // the next tile's sums will lie where these are
    info_.advance();
  }

  const TensorSampleArgs& args_;
  const SamplePart& part_;
  const WgmmaSampleShared<F>& shared_;
  TileShare share_;
  Turn<F> turn_;
  StagePlace<F> place_;  ///< of the stage that is queued next
  StagePlace<F> made_;   ///< and of that whose products are awaited next
  unsigned number_ = 0;  ///< of the tile that comes next, among the block's
  InfoPlace<F> next_;    ///< its place
  InfoPlace<F> info_;    ///< that of the tile whose sums are gathered next
  Either<WarpgroupProduct<F>, Tf32Product<F>, splits_operands(config)> product_;
  unsigned kept_row_tile_ = 0xffffffffU;
  unsigned largest_row_ = 0;  ///< code of magnitudes of the lane's rows, where those are summed up
};

}  // namespace vostok
