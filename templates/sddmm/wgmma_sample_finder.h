// The warp of wgmma_sample that searches the tiles' lists: those that multiply have no time for it.
#pragma once

#include "sddmm/strip_entries.h"
#include "sddmm/tensor_sample_output.h"
#include "sddmm/wgmma_sample_shared.h"

namespace vostok {

template <class F>
class StripFinder {
  static constexpr auto config = F::config;
  static constexpr unsigned strip_places = sample_strip_rows() * tile_columns(config);

 public:
  __device__ StripFinder(const WgmmaSampleArgs& args, const WgmmaSampleShared<F>& shared)
      : n_(SamplePart::of_block<F>(args.sample).template length<F>(args.sample)),
        lists_(args.sample.lists),
        shared_(shared),
        share_(TileShare::of_block(args)) {}

  /// All tiles of the block: a lane for each strip, and one for the list's end.
  __device__ void run() {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
    for (unsigned number = 0; number < share_.count; ++number) {
      wait_barrier(shared_.listed(info_.stage), info_.parity);
      TileInfo<F>& info = shared_.info(info_.stage);
      const unsigned entries = info.tile.entries;
      if (entries == 0) return;
      if (lane < sample_strip_begins(config))
        shared_.strip_begins(info_.stage)[lane] = first_entry_from(
            entries, lane * strip_places, [&](unsigned entry) { return entry_place(lists_, info, entry); });
      SampleCertificate<F>::note_sure_sum(n_, info);
      arrive(shared_.found(info_.stage));  // every lane for what it has written
      info_.advance();
    }
  }

 private:
  long long n_;  ///< of the part
  const TileLists& lists_;
  const WgmmaSampleShared<F>& shared_;
  TileShare share_;
  InfoPlace<F> info_;
};

}  // namespace vostok
