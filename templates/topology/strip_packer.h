// A warp that puts packed strips together (topology/pack_strips.h).
#pragma once

#include "abi/either.h"
#include "abi/pack_strips.h"
#include "parts/async_copy.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/shared.h"
#include "parts/split_number.h"
#include "parts/vector.h"
#include "parts/warp.h"
#include "topology/block_sum.h"

namespace vostok {

/// Whether values are copied beside what else is done; before sm_80 there is no such copy.
#if defined(VOSTOK_EMULATOR) || __CUDA_ARCH__ >= 800
consteval bool pack_strips_copies() { return true; }
#else
consteval bool pack_strips_copies() { return false; }
#endif

/// `placed`: the values lie where value_places says.
template <class F, bool placed>
class StripPacker {
  static constexpr PackedMode mode = F::traits.mode;
  static constexpr PackedGrain grain = F::traits.grain;
  static constexpr int lane_words = packed_lane_words(grain);
  static constexpr bool has_headers = lane_words > 0;
  static constexpr bool scaled = packed_scales_rows(mode);
  static constexpr int pair_words = packed_pair_words(mode);
  static constexpr int warps = F::config.threads / packed_lanes();
  static constexpr Dtype term_type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;
  static constexpr bool as_is = F::traits.element == term_type;  ///< bits are moved
  static constexpr int slot_words = 2;  ///< of a lane, two slots each, that are asked for together
  static_assert(as_is || F::traits.element == Dtype::f32, "pack_strips: 16-bit values are packed in their own type");
  static_assert(!as_is || pair_words == 1, "pack_strips: 16-bit values have one term");

  using Value = Element<F::traits.element>;
  using Stored = typename Value::Storage;
  using Unit = Vector<unsigned, packed_unit_bytes() / 4>;
  static constexpr int copied_words = pack_strips_copied_words(F::traits.element, F::traits.placed);
  using Shared = PackStripsShared<mode, grain, copied_words, F::config.threads>;
  static constexpr bool asks_ahead = F::traits.placed;  ///< places are asked for before the strip is cleared
  static constexpr bool copies = pack_strips_copies() && !placed && copied_words > 0;
  static constexpr int unit_values = packed_unit_bytes() / int{sizeof(Stored)};

 public:
  __device__ StripPacker(const PackStripsArgs& args, unsigned row_strip, long long set)
      : structure_(args.structure),
        values_(static_cast<const Stored*>(args.values) + set * args.value_stride),
        data_(args.data + set * args.set_bytes),
        row_strip_(row_strip),
        warp_(threadIdx.x / packed_lanes()),
        lane_(threadIdx.x % packed_lanes()),
        ends_(structure_.row_starts +
              static_cast<long long>(structure_.k_blocks) * structure_.row_strips * packed_strip_rows()) {}

  /// The scales of the row strip's rows, and where they are wanted their inverses to `row_scales`. Every thread of the
  /// block calls it.
  __device__ void find_scales(float* row_scales) const {
    for (unsigned row = warp_; row < packed_strip_rows(); row += warps) {
      const unsigned largest = warp_maximum<1>(largest_of(row));
      const int exponent = packed_scale_exponent(largest);
      unsigned mark = 0;
      if constexpr (F::traits.marked)
        if (row_scales != nullptr) mark = packed_row_mark(largest, warp_sum<1>(lossy_of(row, power(exponent))));
      if (lane_ != 0) continue;
      shared().scales[row] = power(exponent);
      if (row_scales != nullptr) row_scales[row_strip_ * packed_strip_rows() + row] = marked(power(-exponent), mark);
    }
    __syncthreads();
  }

  /// The strips of every `step`-th k block from `first` on.
  __device__ void pack(unsigned first, unsigned step) const {
    if (first >= structure_.k_blocks) return;
    Strip next = strip_of(first);
    for (unsigned b = first; b < structure_.k_blocks; b += step) {
      const Strip strip = next;
      const Rows rows = rows_of(strip);
      if constexpr (copies) copy_values(strip, rows);
      if (b + step < structure_.k_blocks) next = strip_of(b + step);  // asked for before it is needed
      place_values(strip, rows, slots_of(strip, rows, 0));
      write(strip);
    }
  }

  /// The same of a row strip that the warp has for itself. What the next strip needs is asked for before this one is
  /// written.
  __device__ void pack_beside(unsigned first, unsigned step) const {
    if (first >= structure_.k_blocks) return;
    Strip next = strip_of(first);
    Rows next_rows = rows_of(next);
    Slots next_slots = slots_of(next, next_rows, 0);
    for (unsigned b = first; b < structure_.k_blocks; b += step) {
      const Strip strip = next;
      const Rows rows = next_rows;
      const Slots slots = next_slots;
      const bool more = b + step < structure_.k_blocks;
      if (more) next = strip_of(b + step);
      place_values(strip, rows, slots);
      if (more) {
        next_rows = rows_of(next);
        next_slots = slots_of(next, next_rows, 0);
      }
      write(strip);
    }
  }

  /// The values of the row strip's rows as they are, and where those of each begin; `split` of so many blocks.
  __device__ void copy_exact(int* firsts, float* exact, unsigned split, unsigned splits) const {
    const int* const starts = structure_.row_starts + row_strip_ * packed_strip_rows();
    const int end = load_global(ends_ + row_strip_ * packed_strip_rows() + packed_strip_rows() - 1);
    if (split == 0 && threadIdx.x < packed_strip_rows())
      firsts[row_strip_ * packed_strip_rows() + threadIdx.x] = load_global(starts + threadIdx.x);
    for (int i = load_global(starts) + static_cast<int>(split * F::config.threads + threadIdx.x); i < end;
         i += static_cast<int>(splits * F::config.threads))
      exact[i] = value(i);
  }

  /// What the row strip's rows leave over; `split` of so many blocks.
  __device__ void copy_left(LeftEntry* left_over, unsigned split, unsigned splits) const {
    const unsigned* const starts = structure_.left_starts + row_strip_ * packed_strip_rows();
    const unsigned end = load_global(starts + packed_strip_rows());
    for (unsigned i = load_global(starts) + split * F::config.threads + threadIdx.x; i < end;
         i += splits * F::config.threads) {
      const float value = Value::to_float(load_global(values_ + load_global(structure_.left_sources + i)));
      store_global<false>(left_over + i, LeftEntry{load_global(structure_.left_places + i), value});
    }
  }

 private:
  struct NoHeader {};
  using Header = Either<NoHeader, Vector<unsigned, has_headers ? lane_words : 1>, has_headers>;

  /// Where a strip's parts are. A lane has one of its headers, and the numbers of the first nonzero and of what follows
  /// the last of row lane % 16.
  struct Strip {
    unsigned first_unit, end_unit;
    unsigned first_slot;
    Header header;
    int start, end;
  };

  /// Of the lane's row: units of 16 bytes that its values lie in, those of the rows before it, and what is to be added
  /// to the number of a nonzero among those of the strip to find its value among the copies, or its number among all.
  struct Rows {
    int units, units_before;
    int shift;
    int nonzeros;  ///< of the strip
  };

  /// Nonzeros of a strip whose slots are asked for together, a lane's of them, and the two that one of its words has.
  static constexpr int together = 2 * slot_words * packed_lanes();
  struct Slots {
    unsigned words[slot_words];
  };

  static __device__ Shared& shared() { return dynamic_shared<Shared>(); }
  /// The warp's copies of values.
  __device__ Stored* copied() const {
    return reinterpret_cast<Stored*>(shared().words[warp_] + pack_strips_words(mode, grain));
  }
  static __device__ float power(int exponent) { return __builtin_bit_cast(float, packed_power_bits(exponent)); }

  __device__ Strip strip_of(unsigned k_block) const {
    const long long strip = static_cast<long long>(k_block) * structure_.row_strips + row_strip_;
    const unsigned* const units = structure_.unit_offsets[pair_words - 1] + strip;
    const int* const starts = structure_.row_starts + strip * packed_strip_rows() + lane_ % packed_strip_rows();
    return {.first_unit = load_global(units),
            .end_unit = load_global(units + 1),
            .first_slot = load_global(structure_.slot_offsets + strip),
            .header = header_of(strip),
            .start = load_global(starts),
            .end = load_global(starts + static_cast<long long>(structure_.row_strips) * packed_strip_rows())};
  }

  __device__ Header header_of(long long strip) const {
    if constexpr (!has_headers) return {};
    else return load_global(reinterpret_cast<const Header*>(structure_.headers) + strip * packed_lanes() + lane_);
  }

  /// Values of a row's first unit that lie before the strip's.
  __device__ int lead_of(const Strip& strip) const {
    return static_cast<int>(reinterpret_cast<unsigned long long>(values_ + strip.start) % packed_unit_bytes() /
                            sizeof(Stored));
  }

  __device__ Rows rows_of(const Strip& strip) const {
    const int count = strip.end - strip.start, lead = lead_of(strip);
    const int units = count == 0 ? 0 : (lead + count + unit_values - 1) / unit_values;
    const int own = lane_ < packed_strip_rows() ? units << 16 | count : 0;  // two sums in one
    const int through = warp_inclusive_sum(own);
    const int before = __shfl_sync(0xffffffffU, through - own, lane_ % packed_strip_rows());
    const int units_before = before >> 16, before_row = before & 0xffff;
    return {.units = units,
            .units_before = units_before,
            .shift = copies ? units_before * unit_values + lead - before_row : strip.start - before_row,
            .nonzeros = __shfl_sync(0xffffffffU, through, packed_lanes() - 1) & 0xffff};
  }

  /// Two lanes for each row.
  __device__ void copy_values(const Strip& strip, const Rows& rows) const {
    const int first = strip.start - lead_of(strip);
    const int nonzeros = load_global(ends_ + structure_.row_strips * packed_strip_rows() - 1);
    Stored* const to = copied() + rows.units_before * unit_values;
    for (int unit = static_cast<int>(lane_) / packed_strip_rows(); unit < rows.units;
         unit += packed_lanes() / packed_strip_rows()) {
      const int number = first + unit * unit_values;
      if (number >= 0 && number + unit_values <= nonzeros) {
        copy_async<packed_unit_bytes()>(to + unit * unit_values, values_ + number);
      } else {  // what is not the values' own is not read
        for (int i = 0; i < unit_values; ++i)
          if (number + i >= 0 && number + i < nonzeros) to[unit * unit_values + i] = load_global(values_ + number + i);
      }
    }
    commit_async();
  }

  /// `slots`: the first of the strip.
  __device__ void place_values(const Strip& strip, const Rows& rows, Slots slots) const {
    Places places;
    if constexpr (asks_ahead) places = places_of(rows, slots, 0);
    unsigned* const words = shared().words[warp_];
    // Where there is no value there is a zero: the other half of a pair, what is past the last one.
    for (unsigned unit = lane_; unit < strip.end_unit - strip.first_unit; unit += packed_lanes())
      reinterpret_cast<Unit*>(words)[unit] = Unit{};
    __syncwarp();
    if constexpr (has_headers) reinterpret_cast<Header*>(words)[lane_] = strip.header;
    if constexpr (copies) wait_async<0>();
    __syncwarp();
    for (int done = 0; done < rows.nonzeros; done += together) {
      const Slots current = slots;
      if (done + together < rows.nonzeros) slots = slots_of(strip, rows, done + together);
      place(rows, current, places, done);
      if constexpr (asks_ahead)
        if (done + together < rows.nonzeros) places = places_of(rows, slots, done + together);
    }
    __syncwarp();
  }

  __device__ void write(const Strip& strip) const {
    const auto* const words = reinterpret_cast<const Unit*>(shared().words[warp_]);
    auto* const to = reinterpret_cast<Unit*>(data_ + static_cast<long long>(strip.first_unit) * packed_unit_bytes());
    for (unsigned unit = lane_; unit < strip.end_unit - strip.first_unit; unit += packed_lanes())
      store_global<false>(to + unit, words[unit]);
    __syncwarp();
  }

  /// Of the nonzero of a number.
  __device__ Stored value(int number) const {
    if constexpr (placed) number = load_global(structure_.value_places + number);
    return load_global(values_ + number);
  }

  /// The lane's share of a row's largest magnitude.
  __device__ unsigned largest_of(unsigned row) const {
    constexpr int loads = 8;  // of a lane that are queued together
    const unsigned at = row_strip_ * packed_strip_rows() + row;
    const int end = load_global(ends_ + at);
    unsigned largest = 0;
    for (int first = load_global(structure_.row_starts + at) + static_cast<int>(lane_); first < end;
         first += loads * packed_lanes()) {
      Stored values[loads];
      if constexpr (asks_ahead) {
        int places[loads];  // past the row's last its last: the maximum is the same
#pragma unroll
        for (int i = 0; i < loads; ++i)
          places[i] = load_global(structure_.value_places + min(first + i * packed_lanes(), end - 1));
#pragma unroll
        for (int i = 0; i < loads; ++i) values[i] = load_global(values_ + places[i]);
      } else {
#pragma unroll
        for (int i = 0; i < loads; ++i)
          values[i] = first + i * packed_lanes() < end ? value(first + i * packed_lanes()) : Stored{0};
      }
#pragma unroll
      for (const Stored stored : values) largest = max(largest, finite_magnitude(Value::to_float(stored)));
    }
    return largest;
  }

  /// The lane's share of how many elements of a row lose more than their rounding.
  __device__ unsigned lossy_of(unsigned row, float scale) const {
    const unsigned at = row_strip_ * packed_strip_rows() + row;
    const int end = load_global(ends_ + at);
    unsigned lossy = 0;
    for (int i = load_global(structure_.row_starts + at) + static_cast<int>(lane_); i < end; i += packed_lanes())
      lossy += loses<mode>(__fmul_rn(Value::to_float(value(i)), scale)) ? 1 : 0;
    return lossy;
  }
  static __device__ float marked(float inverse, unsigned mark) {
    return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, inverse) | mark);
  }

  __device__ Slots slots_of(const Strip& strip, const Rows& rows, int done) const {
    const auto* const words =
        reinterpret_cast<const unsigned*>(structure_.slots + strip.first_slot + static_cast<unsigned>(done)) + lane_;
    Slots slots;
#pragma unroll
    for (int i = 0; i < slot_words; ++i)
      slots.words[i] = number_of(done, i) < rows.nonzeros ? load_global(words + i * packed_lanes()) : 0U;
    return slots;
  }

  /// Which nonzero of the strip the lower half of a word stands for.
  __device__ int number_of(int done, int word) const {
    return done + 2 * (word * packed_lanes() + static_cast<int>(lane_));
  }

  /// Whether there is a nonzero for the lane's i-th slot, and where its value is found.
  __device__ bool exists(const Rows& rows, int done, int i) const {
    return number_of(done, i / 2) + i % 2 < rows.nonzeros;
  }
  __device__ int source_of(const Rows& rows, const Slots& slots, int done, int i) const {
    return number_of(done, i / 2) + i % 2 + __shfl_sync(0xffffffffU, rows.shift, packed_slot_row(slot(slots, i)));
  }

  /// Where the values of a transpose lie, asked for all together and without a branch: else a lane would wait for one
  /// after the other. What has no nonzero has the first one's.
  struct Places {
    int at[2 * slot_words];
  };
  __device__ Places places_of(const Rows& rows, const Slots& slots, int done) const {
    Places places{};
    if (rows.nonzeros == 0) return places;
#pragma unroll
    for (int i = 0; i < 2 * slot_words; ++i) {
      const int source = source_of(rows, slots, done, i);
      places.at[i] = load_global(structure_.value_places + (exists(rows, done, i) ? source : 0));
    }
    return places;
  }

  __device__ void place(const Rows& rows, const Slots& slots, const Places& places, int done) const {
    Stored values[2 * slot_words];
#pragma unroll
    for (int i = 0; i < 2 * slot_words; ++i) {
      if constexpr (asks_ahead) {
        values[i] = load_global(values_ + places.at[i]);
      } else {
        const int source = source_of(rows, slots, done, i);
        if (!exists(rows, done, i)) values[i] = Stored{0};
        else values[i] = copies ? copied()[source] : value(source);
      }
    }
#pragma unroll
    for (int i = 0; i < 2 * slot_words; ++i)
      if (exists(rows, done, i)) store(slot(slots, i), values[i]);
  }

  static __device__ unsigned slot(const Slots& slots, int i) { return slots.words[i / 2] >> 16 * (i % 2) & 0xffffU; }

  __device__ void store(unsigned slot, Stored value) const {
    if (grain == PackedGrain::four && packed_slot_number(slot) == packed_left_number()) return;
    auto* const numbers = reinterpret_cast<unsigned short*>(shared().words[warp_] + packed_header_words(grain));
    const unsigned number = packed_slot_number(slot);
    const auto place_of = [&](int term) { return 2 * packed_word(grain, number / 2, term, pair_words) + number % 2; };
    if constexpr (as_is) {
      numbers[place_of(0)] = packed_named(value);
    } else {
      // Not to be contracted with the subtraction of split_number: that would keep what the host's product underflows.
      const float scaled_value = scaled ? __fmul_rn(value, shared().scales[packed_slot_row(slot)]) : value;
      const SplitParts parts = split_number<mode>(scaled_value);
      numbers[place_of(0)] = packed_named(parts.high);
      if constexpr (pair_words == 2) numbers[place_of(1)] = parts.low;
    }
  }

  const PackedStructure& structure_;
  const Stored* values_;
  unsigned char* data_;
  unsigned row_strip_;
  unsigned warp_;
  unsigned lane_;
  const int* ends_;  ///< what follows the number of each row's last nonzero
};

}  // namespace vostok
