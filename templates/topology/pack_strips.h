// Values into packed strips (abi/packed_strips.h), in one pass over them, or two where rows are scaled: the first finds the rows' largest magnitudes,
// and leaves in the caches what the second reads.
//
// A block works at one row strip, a warp at one of its strips at a time: its lanes take the strip's nonzeros in order, row by row, so that loads of
// values fall in few sectors, and put the strip together in shared memory, which is written as one run.
#pragma once

#include "abi/fixed.h"
#include "abi/pack_strips.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/shared.h"
#include "parts/vector.h"
#include "parts/warp.h"

namespace vostok {

/// `placed`: the values lie where value_places says.
template <class F, bool placed>
class StripPacker {
  static constexpr PackedMode mode = F::traits.mode;
  static constexpr bool scaled = packed_scales_rows(mode);
  static constexpr int pair_words = packed_pair_words(mode);
  static constexpr int warps = F::config.threads / packed_lanes;
  static constexpr Dtype term_type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;
  static constexpr bool as_is = F::traits.element == term_type;  ///< bits are moved
  static constexpr int in_flight = 4;  ///< values of a lane whose loads are queued together: more of them cost warps that do the same
  static_assert(as_is || F::traits.element == Dtype::f32, "pack_strips: 16-bit values are packed in their own type");
  static_assert(!as_is || pair_words == 1, "pack_strips: 16-bit values have one term");

  using Value = Element<F::traits.element>;
  using Stored = typename Value::Storage;
  using Term = Element<term_type>;
  using Unit = Vector<unsigned, packed_unit_bytes / 4>;
  using Shared = PackStripsShared<mode, F::config.threads>;

 public:
  __device__ StripPacker(const PackStripsArgs& args, unsigned row_strip, long long set)
      : structure_(args.structure),
        values_(static_cast<const Stored*>(args.values) + set * args.value_stride),
        data_(args.data + set * args.set_bytes),
        row_strip_(row_strip),
        warp_(threadIdx.x / packed_lanes),
        lane_(threadIdx.x % packed_lanes) {}

  /// The scales of the row strip's rows, and where they are wanted their inverses to `row_scales`. Every thread of the block calls it.
  __device__ void find_scales(float* row_scales) const {
    for (unsigned row = warp_; row < packed_strip_rows; row += warps) {
      const int exponent = packed_scale_exponent(warp_maximum<1>(largest_of(row)));
      if (lane_ != 0) continue;
      shared().scales[row] = power(exponent);
      if (row_scales != nullptr) row_scales[row_strip_ * packed_strip_rows + row] = power(-exponent);
    }
    __syncthreads();
  }

  /// The strips of every `step`-th k block from `first` on.
  __device__ void pack(unsigned first, unsigned step) const {
    if (first >= structure_.k_blocks) return;
    Strip next = strip_of(first);
    for (unsigned b = first; b < structure_.k_blocks; b += step) {
      const Strip strip = next;
      if (b + step < structure_.k_blocks) next = strip_of(b + step);  // asked for before it is needed
      pack(strip);
    }
  }

 private:
  /// Where a strip's parts begin and end; of its headers and of its rows' bases the lane's.
  struct Strip {
    unsigned first_unit, end_unit;
    unsigned first_slot, end_slot;
    unsigned header;
    int base;
  };

  static __device__ Shared& shared() { return dynamic_shared<Shared>(); }
  static __device__ float power(int exponent) { return __builtin_bit_cast(float, packed_power_bits(exponent)); }

  __device__ Strip strip_of(unsigned k_block) const {
    const long long strip = static_cast<long long>(k_block) * structure_.row_strips + row_strip_;
    const unsigned* const units = structure_.unit_offsets[pair_words - 1] + strip;
    const unsigned* const nonzeros = structure_.nonzero_offsets + strip;
    return {.first_unit = load_global(units),
            .end_unit = load_global(units + 1),
            .first_slot = load_global(nonzeros),
            .end_slot = load_global(nonzeros + 1),
            .header = load_global(structure_.headers + strip * packed_lanes + lane_),
            .base = load_global(structure_.row_bases + strip * packed_strip_rows + lane_ % packed_strip_rows)};
  }

  __device__ void pack(const Strip& strip) const {
    unsigned* const words = shared().strips[warp_];
    auto* const staged = reinterpret_cast<Unit*>(words);
    // Where there is no value there is a zero: the other half of a pair, what is past the last one.
    const unsigned units = strip.end_unit - strip.first_unit;
    for (unsigned unit = lane_; unit < units; unit += packed_lanes) staged[unit] = Unit{};
    __syncwarp();
    words[lane_] = strip.header;
    const int nonzeros = static_cast<int>(strip.end_slot - strip.first_slot);
    for (int done = 0; done < nonzeros; done += in_flight * packed_lanes) place_values(strip, done, nonzeros - done);
    __syncwarp();
    auto* const to = reinterpret_cast<Unit*>(data_ + static_cast<long long>(strip.first_unit) * packed_unit_bytes);
    for (unsigned unit = lane_; unit < units; unit += packed_lanes) store_global<false>(to + unit, staged[unit]);
    __syncwarp();
  }

  /// Of the nonzero of a number.
  __device__ Stored value(int number) const {
    if constexpr (placed) number = load_global(structure_.value_places + number);
    return load_global(values_ + number);
  }

  /// The lane's share of a row's largest magnitude.
  __device__ unsigned largest_of(unsigned row) const {
    constexpr int together = 2 * in_flight;
    const int* const offsets = structure_.row_offsets + row_strip_ * packed_strip_rows + row;
    const int end = load_global(offsets + 1);
    unsigned largest = 0;
    for (int first = load_global(offsets) + static_cast<int>(lane_); first < end; first += together * packed_lanes) {
      Stored values[together];
#pragma unroll
      for (int i = 0; i < together; ++i) values[i] = first + i * packed_lanes < end ? value(first + i * packed_lanes) : Stored{0};
#pragma unroll
      for (const Stored stored : values) largest = max(largest, finite_magnitude(Value::to_float(stored)));
    }
    return largest;
  }

  /// The values of the strip's next nonzeros, of which `left` are there, into their slots.
  __device__ void place_values(const Strip& strip, int done, int left) const {
    const unsigned short* const from = structure_.slots + strip.first_slot + static_cast<unsigned>(done) + lane_;
    const int own_left = left - static_cast<int>(lane_);
    unsigned slots[in_flight];
    Stored values[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i) slots[i] = i * packed_lanes < own_left ? load_global(from + i * packed_lanes) : 0U;
#pragma unroll
    for (int i = 0; i < in_flight; ++i) {
      const int row_base = __shfl_sync(0xffffffffU, strip.base, packed_slot_row(slots[i]));
      const int number = row_base + done + static_cast<int>(lane_) + i * packed_lanes;
      values[i] = i * packed_lanes < own_left ? value(number) : Stored{0};
    }
#pragma unroll
    for (int i = 0; i < in_flight; ++i)
      if (i * packed_lanes < own_left) store(slots[i], values[i]);
  }

  __device__ void store(unsigned slot, Stored value) const {
    auto* const numbers = reinterpret_cast<unsigned short*>(shared().strips[warp_] + packed_lanes);
    // Of a pair: both numbers, then what is left of both.
    const unsigned at = pair_words == 1 ? packed_slot_number(slot) : packed_slot_number(slot) * 2 - packed_slot_number(slot) % 2;
    if constexpr (as_is) {
      numbers[at] = value;
    } else {
      // Not to be contracted with the subtraction of `rest`: that would keep what the host's product underflows.
      const float number = scaled ? __fmul_rn(value, shared().scales[packed_slot_row(slot)]) : value;
      const unsigned short high = Term::from_float(number);
      numbers[at] = high;
      if constexpr (pair_words == 2) numbers[at + 2] = rest(number, high);
    }
  }

  static __device__ bool is_finite(float value) { return (__builtin_bit_cast(unsigned, value) & 0x7f800000U) != 0x7f800000U; }

  /// The bits of a finite value's magnitude, which compare as the magnitudes do; 0 of others.
  static __device__ unsigned finite_magnitude(float value) { return is_finite(value) ? __builtin_bit_cast(unsigned, value) & 0x7fffffffU : 0; }

  /// The second term.
  static __device__ unsigned short rest(float value, unsigned short first) {
    const float rounded = Term::to_float(first);
    return Term::from_float(is_finite(rounded) ? value - rounded : 0.0F);
  }

  const PackedStructure& structure_;
  const Stored* values_;
  unsigned char* data_;
  unsigned row_strip_;
  unsigned warp_;
  unsigned lane_;
};

/// A block's share of a row strip.
template <class F, bool placed>
__device__ inline void pack_row_strip(const PackStripsArgs& args, unsigned set, unsigned split) {
  constexpr unsigned warps = F::config.threads / packed_lanes;
  const StripPacker<F, placed> packer(args, blockIdx.x, set);
  if constexpr (packed_scales_rows(F::traits.mode)) packer.find_scales(split == 0 ? args.row_scales + set * (args.set_bytes / 4) : nullptr);
  packer.pack(split * warps + threadIdx.x / packed_lanes, warps * args.splits);
}

/// Blocks that a multiprocessor is to hold at least; 0: as the compiler thinks best. For these architectures it thinks that five are best, and
/// spills.
#if !defined(VOSTOK_EMULATOR) && __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200
constexpr int pack_strips_blocks = 4;
#else
constexpr int pack_strips_blocks = 0;
#endif

/// Row strips lie on the grid's x, sets and the shares of their strips on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads, pack_strips_blocks) pack_strips(const __grid_constant__ PackStripsArgs args) {
  static_assert(F::config.threads % packed_lanes == 0 && F::config.threads <= 1024, "pack_strips: whole warps");
  static_assert(sizeof(PackStripsShared<F::traits.mode, F::config.threads>) <= shared_bytes(F::traits, F::config), "pack_strips: shared memory");
  const unsigned line = blockIdx.z * gridDim.y + blockIdx.y;
  const unsigned set = line / args.splits, split = line % args.splits;
  if (set >= args.sets) return;
  wait_for_previous_launch();
  if (args.structure.value_places == nullptr) pack_row_strip<F, false>(args, set, split);
  else pack_row_strip<F, true>(args, set, split);
  publish_to_next_launch();
}

}  // namespace vostok
