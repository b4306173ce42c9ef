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

template <class F>
class StripPacker {
  static constexpr PackedMode mode = F::traits.mode;
  static constexpr bool scaled = packed_scales_rows(mode);
  static constexpr int pair_words = packed_pair_words(mode);
  static constexpr int warps = F::config.threads / packed_lanes;
  static constexpr Dtype term_type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;
  static constexpr bool as_is = F::traits.element == term_type;  ///< bits are moved
  static constexpr unsigned batch = 4;                           ///< values of a lane whose loads are in flight together
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

  __device__ void pack(unsigned k_block) const {
    const long long strip = strip_number(k_block);
    const unsigned* const offsets = structure_.unit_offsets[pair_words - 1];
    const unsigned first_unit = load_global(offsets + strip), units = load_global(offsets + strip + 1) - first_unit;
    auto* const staged = reinterpret_cast<Unit*>(shared().strips[warp_]);
    // Where there is no value there is a zero: the other half of a pair, what is past the last one.
    for (unsigned unit = lane_; unit < units; unit += packed_lanes) staged[unit] = Unit{};
    __syncwarp();
    shared().strips[warp_][lane_] = load_global(structure_.headers + strip * packed_lanes + lane_);
    place_values(strip);
    __syncwarp();
    auto* const strip_units = reinterpret_cast<Unit*>(data_ + static_cast<long long>(first_unit) * packed_unit_bytes);
    for (unsigned unit = lane_; unit < units; unit += packed_lanes) store_global<false>(strip_units + unit, staged[unit]);
    __syncwarp();
  }

 private:
  static __device__ Shared& shared() { return dynamic_shared<Shared>(); }
  static __device__ float power(int exponent) { return __builtin_bit_cast(float, packed_power_bits(exponent)); }

  __device__ long long strip_number(unsigned k_block) const { return static_cast<long long>(k_block) * structure_.row_strips + row_strip_; }

  /// Of the nonzero of a number.
  __device__ Stored value(int number) const {
    if (structure_.value_places != nullptr) number = load_global(structure_.value_places + number);
    return load_global(values_ + number);
  }

  /// The lane's share of a row's largest magnitude.
  __device__ unsigned largest_of(unsigned row) const {
    const int* const offsets = structure_.row_offsets + row_strip_ * packed_strip_rows + row;
    const int end = load_global(offsets + 1);
    unsigned largest = 0;
    for (int first = load_global(offsets) + static_cast<int>(lane_); first < end; first += batch * packed_lanes) {
      Stored values[batch];
#pragma unroll
      for (unsigned i = 0; i < batch; ++i) {
        const int number = first + static_cast<int>(i * packed_lanes);
        values[i] = number < end ? value(number) : Stored{0};
      }
#pragma unroll
      for (const Stored stored : values) largest = max(largest, finite_magnitude(Value::to_float(stored)));
    }
    return largest;
  }

  /// The strip's values into their slots.
  __device__ void place_values(long long strip) const {
    const unsigned begin = load_global(structure_.nonzero_offsets + strip), count = load_global(structure_.nonzero_offsets + strip + 1) - begin;
    const int base = load_global(structure_.row_bases + strip * packed_strip_rows + lane_ % packed_strip_rows);
    for (unsigned first = lane_; first - lane_ < count; first += batch * packed_lanes) {
      unsigned slots[batch];
      Stored values[batch];
#pragma unroll
      for (unsigned i = 0; i < batch; ++i) {
        const unsigned at = first + i * packed_lanes;
        slots[i] = at < count ? load_global(structure_.slots + begin + at) : 0U;
      }
#pragma unroll
      for (unsigned i = 0; i < batch; ++i) {
        const unsigned at = first + i * packed_lanes;
        const int row_base = __shfl_sync(0xffffffffU, base, packed_slot_row(slots[i]));
        values[i] = at < count ? value(row_base + static_cast<int>(at)) : Stored{0};
      }
#pragma unroll
      for (unsigned i = 0; i < batch; ++i)
        if (first + i * packed_lanes < count) store(slots[i], values[i]);
    }
  }

  __device__ void store(unsigned slot, Stored value) const {
    auto* const numbers = reinterpret_cast<unsigned short*>(shared().strips[warp_] + packed_lanes + packed_slot_pair(slot) * pair_words);
    const unsigned half = packed_slot_half(slot);
    if constexpr (as_is) {
      numbers[half] = value;
    } else {
      // Not to be contracted with the subtraction of `rest`: that would keep what the host's product underflows.
      const float number = scaled ? __fmul_rn(value, shared().scales[packed_slot_row(slot)]) : value;
      const unsigned short high = Term::from_float(number);
      numbers[half] = high;
      if constexpr (pair_words == 2) numbers[2 + half] = rest(number, high);
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

/// Row strips lie on the grid's x, sets and the shares of their strips on y, and on z past what y holds.
template <class F>
__global__ void __launch_bounds__(F::config.threads) pack_strips(const __grid_constant__ PackStripsArgs args) {
  constexpr unsigned warps = F::config.threads / packed_lanes;
  static_assert(F::config.threads % packed_lanes == 0 && F::config.threads <= 1024, "pack_strips: whole warps");
  static_assert(sizeof(PackStripsShared<F::traits.mode, F::config.threads>) <= shared_bytes(F::traits, F::config), "pack_strips: shared memory");
  const unsigned line = blockIdx.z * gridDim.y + blockIdx.y;
  const unsigned set = line / args.splits, split = line % args.splits;
  if (set >= args.sets) return;
  wait_for_previous_launch();
  const StripPacker<F> packer(args, blockIdx.x, set);
  if constexpr (packed_scales_rows(F::traits.mode)) packer.find_scales(split == 0 ? args.row_scales + set * (args.set_bytes / 4) : nullptr);
  for (unsigned b = split * warps + threadIdx.x / packed_lanes; b < args.structure.k_blocks; b += warps * args.splits) packer.pack(b);
  publish_to_next_launch();
}

}  // namespace vostok
