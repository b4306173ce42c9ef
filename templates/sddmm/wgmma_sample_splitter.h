// The warps of wgmma_sample that split an f32 B into terms of TF32: its high terms are what the copy engine brought,
// of which tensor cores leave out the last bits, and its low terms are those bits, rounded. They sum up the magnitudes
// of its rows too, which are columns of the tile.
#pragma once

#include "parts/loads.h"
#include "parts/mbarrier.h"
#include "parts/shared_address.h"
#include "parts/tf32_terms.h"
#include "parts/warp.h"
#include "sddmm/tensor_sample_walk.h"
#include "sddmm/wgmma_sample_shared.h"

namespace vostok {

template <class F>
class RhsSplitter {
  static constexpr auto config = F::config;
  static constexpr unsigned chunk_bytes = 16;
  static constexpr unsigned chunks =
      rhs_block_bytes(config) / chunk_bytes / splitting_threads(config);  ///< of a thread
  static constexpr unsigned at_once = chunks < 4 ? chunks : 4;
  static_assert(chunks % at_once == 0, "a thread splits as many chunks at a time each time");
  static constexpr unsigned line_lanes = split_line_bytes() / chunk_bytes;  ///< lanes that share a line
  static constexpr bool sums = sums_magnitudes(F::traits, config);

 public:
  __device__ RhsSplitter(const WgmmaSampleArgs& args, const SamplePart& part, const WgmmaSampleShared<F>& shared)
      : tiles_(args.sample.lists.tiles), part_(part), shared_(shared), share_(TileShare::of_block(args)) {}

  /// All stages of all tiles of the block, up to one without entries.
  __device__ void run() {
    const unsigned stages = part_.block_count * block_stages(config);
#pragma unroll 1
    for (unsigned number = 0; number < share_.count; ++number) {
      if (load_global(tiles_ + share_.first + number).entries == 0) return;
      float magnitudes[chunks] = {};
#pragma unroll 1
      for (unsigned stage = 0; stage < stages; ++stage) {
        wait_barrier(shared_.full(place_.stage), place_.parity);
        split(magnitudes);
        publish_to_async_proxy();
        arrive(shared_.split(place_.stage));
        place_.advance();
      }
      if constexpr (sums) note_columns(magnitudes);
    }
  }

 private:
  /// Low terms lie as the elements do. A thread has the same columns of each stage.
  __device__ void split(float (&magnitudes)[chunks]) const {
    const unsigned first = threadIdx.x % splitting_threads(config) * chunk_bytes;
    const SharedAddress from = {shared_.rhs(place_.stage) + first}, to = {shared_.low_rhs(place_.stage) + first};
    constexpr unsigned step = splitting_threads(config) * chunk_bytes;
#pragma unroll
    for (unsigned chunk = 0; chunk < chunks; chunk += at_once) {
      unsigned words[at_once][4];
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) load_words(words[i], from + (chunk + i) * step);
      if constexpr (chunks > at_once) __syncwarp();  // or loads would be moved behind stores, and each awaited
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) {
#pragma unroll
        for (unsigned& word : words[i]) {
          if constexpr (sums) magnitudes[chunk + i] += fabsf(__builtin_bit_cast(float, word));
          word = low_tf32_term(word);
        }
        store_words(to + (chunk + i) * step, words[i]);
      }
    }
  }

  /// How large the columns of the tile are. The copies of its operands waited until what is known of it had room.
  __device__ void note_columns(const float (&magnitudes)[chunks]) {
    const unsigned thread = threadIdx.x % splitting_threads(config);
    TileInfo<F>& info = shared_.info(info_.stage);
#pragma unroll
    for (unsigned chunk = 0; chunk < chunks; ++chunk) {
      const float sum = warp_sum<1, line_lanes / 2>(magnitudes[chunk]);
      if (thread % line_lanes == 0)
        info.set_column_code((chunk * splitting_threads(config) + thread) / line_lanes, magnitude_code(sum));
    }
    arrive(shared_.found(info_.stage));  // every lane, after what it has written
    info_.advance();
  }

  const SampleTile* tiles_;
  const SamplePart& part_;
  const WgmmaSampleShared<F>& shared_;
  TileShare share_;
  StagePlace<F> place_;
  InfoPlace<F> info_;  ///< of the tile whose B is split
};

}  // namespace vostok
