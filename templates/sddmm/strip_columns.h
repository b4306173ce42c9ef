// The rows of B that a strip's entries name: their indices are loaded once, coalesced, and reach every lane of the
// strip.
#pragma once

#include "abi/row_strips.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/shared.h"
#include "parts/unsigned.h"

namespace vostok {

/// The offsets of a block's strips. The last member spreads the strips of a warp over the banks.
template <class F>
struct StagedStrip {
  alignas(16) typename UnsignedOf<F::traits.wide_offsets>::Type at[F::config.strip_entries];
  alignas(16) unsigned spread[4];
};
template <class F>
struct StagedStrips {
  StagedStrip<F> strips[F::config.strips_per_block];
};

template <class F>
class StripColumns {
  static constexpr auto config = F::config;
  static constexpr bool shared = config.column_path == ColumnPath::shared;
  static constexpr int lanes = config.threads_per_strip;
  static constexpr int entries = config.strip_entries;
  static constexpr int slots = (entries + lanes - 1) / lanes;
  static_assert(!shared || sizeof(StagedStrips<F>) == shared_bytes(F::traits, config),
                "shared_bytes differs from the layout");

 public:
  /// Bytes into B; unsigned 32-bit ones reach 2^31 bytes and the elements of a row beyond.
  using Offset = typename UnsignedOf<F::traits.wide_offsets>::Type;

  /// Every lane of the warp comes here. Entries past the strip's end name its last row of B: one that may be read.
  __device__ StripColumns(const RowStripsArgs& args, const Strip& strip, unsigned strip_in_block, unsigned lane)
      : strip_(strip_in_block) {
    const auto* columns = static_cast<const typename Index<F::traits.index>::Storage*>(args.column_indices);
    const auto row_bytes = static_cast<Offset>(args.rhs_leading * size_of(F::traits.element));
    const int count = strip.end - strip.begin;
#pragma unroll
    for (int i = 0; i < slots; ++i) {
      const int entry = i * lanes + static_cast<int>(lane);
      held_[i] = count > 0 ? load_global(columns + strip.begin + (entry < count ? entry : count - 1)) * row_bytes : 0;
    }
    if constexpr (shared) {
      auto& staged = dynamic_shared<StagedStrips<F>>().strips[strip_];
#pragma unroll
      for (int i = 0; i < slots; ++i)
        if (i * lanes + static_cast<int>(lane) < entries) staged.at[i * lanes + lane] = held_[i];
      __syncwarp();
    }
  }

  /// Offsets of the `count` entries from `first` on. Every lane of the warp comes here.
  template <int count>
  struct Batch {
    Offset at[count];
  };
  template <int count>
  __device__ Batch<count> read(int first) const {
    Batch<count> batch;
    if constexpr (shared) {
      constexpr int width = count < 4 ? count : 4;
      const auto& staged = dynamic_shared<StagedStrips<F>>().strips[strip_];
#pragma unroll
      for (int i = 0; i < count; i += width) {
        const auto some = *reinterpret_cast<const Vector<Offset, width>*>(&staged.at[first + i]);
#pragma unroll
        for (int j = 0; j < width; ++j) batch.at[i + j] = some.at[j];
      }
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i)
        batch.at[i] = __shfl_sync(0xffffffffU, held_[(first + i) / lanes], (first + i) % lanes, lanes);
    }
    return batch;
  }

 private:
  unsigned strip_;
  Offset held_[slots];
};

}  // namespace vostok
