// The first entries of a row, from its slot (abi/row_slots.h): the record and the columns are loaded at once, so that B
// is asked for one load after the kernel starts. Where the values lie is known by the record; they come while B does.
#pragma once

#include "abi/row_slots.h"
#include "spmm/staged_entries.h"

namespace vostok {

template <class F>
class SlotEntries {
  static constexpr auto config = F::config;
  static constexpr unsigned room = config.slot_entries;
  static constexpr unsigned lanes = lanes_per_row(config);
  static constexpr unsigned loads = room / lanes;
  using Value = typename Packet<F>::Value;
  using Column = typename Packet<F>::Column;

 public:
  /// A slot past the last one is an empty row.
  __device__ SlotEntries(const RowSlots& slots, unsigned slot, bool exists, StagedStep<F>& step, unsigned lane)
      : step_(step), lane_(lane) {
    if (!exists) return;
    record_ = load_global(slots.records + slot);
    const Column* const columns =
        static_cast<const Column*>(slots.columns) + static_cast<unsigned long long>(slot) * room;
#pragma unroll
    for (unsigned i = 0; i < loads; ++i) columns_[i] = load_global(columns + place(i));
  }

  __device__ const RowRecord& record() const { return record_; }
  /// How many of the piece's entries lie here.
  __device__ unsigned count() const { return min(static_cast<unsigned>(record_.length), room); }
  /// The others.
  __device__ EntrySpan<F> rest() const {
    const auto begin = static_cast<Position<F>>(begin_of(record_));
    const auto length = static_cast<Position<F>>(record_.length);
    if (length <= room) return {0, 0, 0};
    return entry_span<F>(begin + room, begin + length);
  }

  /// Starts loading the values.
  __device__ void load_values(const Operands<F>& operands) {
#pragma unroll
    for (unsigned i = 0; i < loads; ++i)
      if (place(i) < count()) values_[i] = load_global(operands.values + begin_of(record_) + place(i));
  }

  /// Makes the offsets readable by the row's lanes; those behind the row's entries are never used.
  __device__ void publish_offsets(const CsrProductArgs& args) {
#pragma unroll
    for (unsigned i = 0; i < loads; ++i) step_.offsets[place(i)] = stage_offset<F>(args, columns_[i]);
    __syncwarp();
  }

  /// The same of the values; behind the row's entries they are zeros.
  __device__ void publish_values() {
#pragma unroll
    for (unsigned i = 0; i < loads; ++i)
      step_.values[place(i)] = place(i) < count() ? Element<F::traits.element>::to_float(values_[i]) : 0.0F;
    __syncwarp();
  }

 private:
  __device__ unsigned place(unsigned i) const { return i * lanes + lane_; }

  StagedStep<F>& step_;
  unsigned lane_;
  RowRecord record_ = make_record(-1, 0, 0, 1);
  Column columns_[loads] = {};
  Value values_[loads] = {};
};

}  // namespace vostok
