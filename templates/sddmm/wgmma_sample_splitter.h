// The warps of wgmma_sample that split an f32 B into terms of TF32: its high terms are what the copy engine brought,
// of which tensor cores leave out the last bits, and its low terms are those bits, rounded.
#pragma once

#include "parts/loads.h"
#include "parts/mbarrier.h"
#include "parts/shared_address.h"
#include "parts/split_number.h"
#include "parts/tf32_terms.h"
#include "sddmm/tensor_sample_walk.h"
#include "sddmm/wgmma_sample_shared.h"

namespace vostok {

template <class F>
class RhsSplitter {
  static constexpr auto config = F::config;
  static constexpr unsigned chunk_bytes = 16;
  static constexpr unsigned chunks = rhs_block_bytes(config) / chunk_bytes / splitting_threads();  ///< of a thread
  static constexpr unsigned at_once = chunks < 4 ? chunks : 4;
  static_assert(chunks % at_once == 0, "a thread splits as many chunks at a time each time");

 public:
  __device__ RhsSplitter(const WgmmaSampleArgs& args, const SamplePart& part, const WgmmaSampleShared<F>& shared)
      : tiles_(args.sample.lists.tiles), part_(part), shared_(shared), share_(TileShare::of_block(args)) {}

  /// All stages of all tiles of the block, up to one without entries.
  __device__ void run() {
    const unsigned stages = part_.block_count * block_stages(config);
#pragma unroll 1
    for (unsigned number = 0; number < share_.count; ++number) {
      if (load_global(tiles_ + share_.first + number).entries == 0) return;
#pragma unroll 1
      for (unsigned stage = 0; stage < stages; ++stage) {
        wait_barrier(shared_.full(place_.stage), place_.parity);
        const bool loses = __any_sync(0xffffffffU, split().any()) != 0;
        if (threadIdx.x % 32 == 0) shared_.losses(place_.stage)[threadIdx.x / 32 % 2] = loses ? 1 : 0;
        publish_to_async_proxy();
        arrive(shared_.split(place_.stage));
        place_.advance();
      }
    }
  }

 private:
  /// Low terms lie as the elements do. Returns what is known of the small ones of the thread's elements.
  __device__ SmallNumbers<config.mode> split() const {
    SmallNumbers<config.mode> small;
    const unsigned first = threadIdx.x % splitting_threads() * chunk_bytes;
    const SharedAddress from = {shared_.rhs(place_.stage) + first}, to = {shared_.low_rhs(place_.stage) + first};
    constexpr unsigned step = splitting_threads() * chunk_bytes;
#pragma unroll 1
    for (unsigned chunk = 0; chunk < chunks; chunk += at_once) {
      unsigned words[at_once][4];
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) load_words(words[i], from + (chunk + i) * step);
#pragma unroll
      for (unsigned i = 0; i < at_once; ++i) {
        small.add(words[i]);
#pragma unroll
        for (unsigned& word : words[i]) word = low_tf32_term(word);
        store_words(to + (chunk + i) * step, words[i]);
      }
    }
    return small;
  }

  const SampleTile* tiles_;
  const SamplePart& part_;
  const WgmmaSampleShared<F>& shared_;
  TileShare share_;
  StagePlace<F> place_;
};

}  // namespace vostok
