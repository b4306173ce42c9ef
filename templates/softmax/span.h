// The entries that a team of threads works on, and vector loads and stores that touch no others.
#pragma once

#include "abi/softmax.h"
#include "parts/element.h"
#include "parts/loads.h"

namespace vostok {

/// Entries of one row. Positions count from `base`, the vector boundary at or before the first entry (the paper's
/// reverse offset alignment, V-B2), so that vectors are aligned wherever rows start.
struct EntrySpan {
  long long base;  ///< among the elements of a batch that lies packed at the values' stride
  int begin;       ///< 0 to vector - 1
  int end;

  /// Of the row entries [begin, end) of the matrix whose values start at `batch_begin`.
  template <int vector>
  static __device__ EntrySpan of(long long batch_begin, long long begin, long long end) {
    const long long base = (batch_begin + begin) / vector * vector;
    const int shift = static_cast<int>(batch_begin + begin - base);
    return {base, shift, shift + static_cast<int>(end - begin)};
  }

  __device__ bool holds(int position) const { return position >= begin && position < end; }
  template <int vector>
  __device__ bool holds_all(int position) const {
    return position >= begin && position + vector <= end;
  }
  template <int vector>
  __device__ bool holds_any(int position) const {
    return position + vector > begin && position < end;
  }
};

/// The row offsets of a matrix, in the width they are stored in.
template <bool wide>
__device__ inline long long row_offset(const void* row_offsets, long long row) {
  if constexpr (wide) return load_global(static_cast<const long long*>(row_offsets) + row);
  else return load_global(static_cast<const int*>(row_offsets) + row);
}

/// One matrix of a batch as a team sees it: element 0 is the span's base.
template <Dtype type, int vector>
class SpanMemory {
  using Convert = Element<type>;
  using Stored = typename Convert::Storage;

 public:
  using Packet = Vector<Stored, vector>;

  __device__ explicit SpanMemory(Stored* base) : base_(base) {}

  /// The packet at `position`; its elements that the span lacks are zeros, and are not read.
  __device__ Packet load(const EntrySpan& span, int position) const {
    Packet packet{};
    if (span.holds_all<vector>(position)) {
      packet = load_own(reinterpret_cast<const Packet*>(base_ + position));
    } else if (span.holds_any<vector>(position)) {
#pragma unroll
      for (int i = 0; i < vector; ++i)
        if (span.holds(position + i)) packet.at[i] = load_own(base_ + position + i);
    }
    return packet;
  }

  __device__ void store(const EntrySpan& span, int position, const float (&values)[vector]) const {
    if (!span.holds_any<vector>(position)) return;
    Packet packet;
#pragma unroll
    for (int i = 0; i < vector; ++i) packet.at[i] = Convert::from_float(values[i]);
    if (span.holds_all<vector>(position)) {
      store_global<false>(reinterpret_cast<Packet*>(base_ + position), packet);
    } else {
#pragma unroll
      for (int i = 0; i < vector; ++i)
        if (span.holds(position + i)) base_[position + i] = packet.at[i];
    }
  }

  static __device__ float to_float(const Packet& packet, int i) { return Convert::to_float(packet.at[i]); }

 private:
  Stored* base_;
};

}  // namespace vostok
