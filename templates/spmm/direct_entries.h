// A row's entries without shared memory: each lane loads all entries it multiplies. The lanes of a subwarp ask for the same
// addresses, which L1 answers once; nothing waits for anything but its own loads.
#pragma once

#include "spmm/row_entries.h"

namespace vostok {

template <class F>
class DirectEntries {
  static constexpr auto config = F::config;
  static constexpr int width = config.sparse_vector;
  static constexpr int loads = entries_per_lane(config) / width;

 public:
  static constexpr int packet(int) { return width; }

  __device__ DirectEntries(const RowTileArgs& args, const RowSpan& span, unsigned, unsigned lane)
      : args_(args), span_(span), subwarp_(lane / config.threads_per_row) {}

  /// Starts loading the step at `step_start`.
  __device__ void load(unsigned step_start) {
#pragma unroll
    for (int i = 0; i < loads; ++i) next_[i] = load_packet<F>(args_, step_start + (i * config.row_split + subwarp_) * width, span_.end);
  }

  __device__ void publish(unsigned) {
#pragma unroll
    for (int i = 0; i < loads; ++i) current_[i] = next_[i];
  }

  __device__ void release() {}

  template <int count>
  __device__ Batch<F, count> read(unsigned batch, unsigned) const {
    using Element = Element<F::traits.element>;
    const Offset<F> row_bytes = static_cast<Offset<F>>(args_.dense_leading) * size_of(F::traits.element);
    Batch<F, count> entries;
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const Packet<F>& packet = current_[(batch * count + i) / width];
      entries.values[i] = Element::to_float(packet.values.at[i % width]);
      entries.offsets[i] = packet.columns.at[i % width] * row_bytes;
    }
    return entries;
  }

 private:
  const RowTileArgs& args_;
  const RowSpan& span_;
  unsigned subwarp_;
  Packet<F> next_[loads];
  Packet<F> current_[loads];
};

}  // namespace vostok
