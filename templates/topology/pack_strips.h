// Values into packed strips (abi/packed_strips.h), in one pass over the structure's sources, or two where rows are scaled: the first
// finds the rows' largest magnitudes, and leaves in the caches what the second reads.
//
// A block works at one row strip, a warp at one of its strips at a time, a lane at every 32nd pair: neighbouring pairs come from few rows,
// so that a warp's loads of values fall in few sectors, and sources and pairs are read and written as one run. What belongs to a
// lane of the strip, the row of a pair, is told through shared memory.
#pragma once

#include "abi/fixed.h"
#include "abi/pack_strips.h"
#include "parts/dependent_launch.h"
#include "parts/element.h"
#include "parts/loads.h"
#include "parts/shared.h"
#include "parts/vector.h"

namespace vostok {

template <class F>
class StripPacker {
  static constexpr PackedMode mode = F::traits.mode;
  static constexpr bool scaled = packed_scales_rows(mode);
  static constexpr int pair_words = packed_pair_words(mode);
  static constexpr int warps = F::config.threads / packed_lanes;
  static constexpr Dtype term_type = packed_is_f16(mode) ? Dtype::f16 : Dtype::bf16;
  static constexpr bool as_is = F::traits.element == term_type;  ///< bits are moved
  static constexpr int batch = 4;                                ///< pairs of a lane whose loads are in flight together
  static_assert(as_is || F::traits.element == Dtype::f32, "pack_strips: 16-bit values are packed in their own type");
  static_assert(!as_is || pair_words == 1, "pack_strips: 16-bit values have one term");

  using Value = Element<F::traits.element>;
  using Stored = typename Value::Storage;
  using Term = Element<term_type>;
  using Sources = Vector<int, 2>;
  using Words = Vector<unsigned, pair_words>;

 public:
  __device__ StripPacker(const PackStripsArgs& args, unsigned row_strip, long long set)
      : structure_(args.structure),
        values_(static_cast<const Stored*>(args.values) + set * args.value_stride),
        data_(args.data + set * args.set_bytes),
        row_strip_(row_strip),
        warp_(threadIdx.x / packed_lanes),
        lane_(threadIdx.x % packed_lanes) {}

  /// The scales of the row strip's rows, into shared memory and, where they are wanted, their inverses to `row_scales`. Every thread of the
  /// block calls it.
  __device__ void find_scales(float* row_scales) const {
    PackStripsShared<F::config.threads>& shared = this->shared();
    if (threadIdx.x < packed_strip_rows) shared.largest[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned b = warp_; b < structure_.k_blocks; b += warps) raise_largest(strip_number(b));
    __syncthreads();
    if (threadIdx.x < packed_strip_rows) {
      const int exponent = packed_scale_exponent(shared.largest[threadIdx.x]);
      shared.scales[threadIdx.x] = power(exponent);
      if (row_scales != nullptr) row_scales[row_strip_ * packed_strip_rows + threadIdx.x] = power(-exponent);
    }
    __syncthreads();
  }

  __device__ void pack(unsigned k_block) const {
    const long long strip = strip_number(k_block);
    const unsigned* const offsets = structure_.unit_offsets[pair_words - 1];
    const unsigned header = write_pair_rows(strip);
    auto* const words = reinterpret_cast<unsigned*>(data_ + static_cast<long long>(offsets[strip]) * packed_unit_bytes);
    words[lane_] = header;
    auto* const pairs = reinterpret_cast<Words*>(words + packed_lanes);
    const unsigned room = ((offsets[strip + 1] - offsets[strip]) * (packed_unit_bytes / 4) - packed_lanes) / pair_words;
    // Past the last pair there are no values: what is packed of them is zero.
    for_each_pair(run_of(strip), room, [&](unsigned pair, Stored lower, Stored upper) { pairs[pair] = packed(pair, lower, upper); });
  }

 private:
  /// The pairs of a strip.
  struct Run {
    const Sources* sources;
    unsigned count;
  };

  static __device__ PackStripsShared<F::config.threads>& shared() { return dynamic_shared<PackStripsShared<F::config.threads>>(); }
  static __device__ float power(int exponent) { return __builtin_bit_cast(float, packed_power_bits(exponent)); }

  __device__ long long strip_number(unsigned k_block) const { return static_cast<long long>(k_block) * structure_.row_strips + row_strip_; }

  __device__ Run run_of(long long strip) const {
    const unsigned first = structure_.pair_offsets[strip];
    return {reinterpret_cast<const Sources*>(structure_.sources) + first, structure_.pair_offsets[strip + 1] - first};
  }

  /// use(pair, lower value, upper value) for the lane's pairs below `end`; zeros where there is no value.
  template <class Use>
  __device__ void for_each_pair(const Run& run, unsigned end, const Use& use) const {
    for (unsigned first = lane_; first < end; first += batch * packed_lanes) {
      Sources sources[batch];
      Stored lower[batch], upper[batch];
#pragma unroll
      for (unsigned i = 0; i < batch; ++i) {
        const unsigned pair = first + i * packed_lanes;
        sources[i] = pair < run.count ? load_global(run.sources + pair) : Sources{{-1, -1}};
      }
#pragma unroll
      for (unsigned i = 0; i < batch; ++i) {
        lower[i] = value(sources[i].at[0]);
        upper[i] = value(sources[i].at[1]);
      }
#pragma unroll
      for (unsigned i = 0; i < batch; ++i)
        if (first + i * packed_lanes < end) use(first + i * packed_lanes, lower[i], upper[i]);
    }
  }

  __device__ Stored value(int source) const { return source < 0 ? Stored{0} : load_global(values_ + source); }

  /// The lane's header; where rows are scaled, every lane of the warp says which rows its pairs are of, and pairs past the last are of row 0.
  __device__ unsigned write_pair_rows(long long strip) const {
    const unsigned header = load_global(structure_.headers + strip * packed_lanes + lane_);
    if constexpr (scaled) {
      unsigned char* const rows = shared().pair_rows[warp_];
      __syncwarp();  // the last strip's rows have been read
      unsigned pair = packed_start(header);
      for (unsigned mask = packed_mask(header); mask != 0; mask &= mask - 1)
        rows[pair++] = static_cast<unsigned char>(packed_row(static_cast<int>(lane_), __ffs(static_cast<int>(mask)) - 1));
      if (lane_ == packed_lanes - 1 && pair < packed_most_pairs) rows[pair] = 0;
      __syncwarp();
    }
    return header;
  }

  __device__ void raise_largest(long long strip) const {
    write_pair_rows(strip);
    const Run run = run_of(strip);
    for_each_pair(run, run.count, [&](unsigned pair, Stored lower, Stored upper) {
      const unsigned most = max(finite_magnitude(Value::to_float(lower)), finite_magnitude(Value::to_float(upper)));
      atomicMax(shared().largest + shared().pair_rows[warp_][pair], most);
    });
  }

  static __device__ bool is_finite(float value) { return (__builtin_bit_cast(unsigned, value) & 0x7f800000U) != 0x7f800000U; }

  /// The bits of a finite value's magnitude, which compare as the magnitudes do; 0 of others.
  static __device__ unsigned finite_magnitude(float value) { return is_finite(value) ? __builtin_bit_cast(unsigned, value) & 0x7fffffffU : 0; }

  __device__ Words packed(unsigned pair, Stored lower, Stored upper) const {
    if constexpr (as_is) {
      return {{lower | static_cast<unsigned>(upper) << 16}};
    } else if constexpr (scaled) {
      const float scale = shared().scales[shared().pair_rows[warp_][pair]];
      // Not to be contracted with the subtraction of `rest`: that would keep what the host's product underflows.
      return terms(__fmul_rn(lower, scale), __fmul_rn(upper, scale));
    } else {
      return terms(lower, upper);
    }
  }

  static __device__ Words terms(float lower, float upper) {
    const unsigned short low_bits = Term::from_float(lower), high_bits = Term::from_float(upper);
    Words words;
    words.at[0] = low_bits | static_cast<unsigned>(high_bits) << 16;
    if constexpr (pair_words == 2) words.at[1] = rest(lower, low_bits) | static_cast<unsigned>(rest(upper, high_bits)) << 16;
    return words;
  }

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
  const unsigned line = blockIdx.z * gridDim.y + blockIdx.y;
  const unsigned set = line / args.splits, split = line % args.splits;
  if (set >= args.sets) return;
  wait_for_previous_launch();
  const StripPacker<F> packer(args, blockIdx.x, set);
  if constexpr (packed_scales_rows(F::traits.mode)) {
    static_assert(sizeof(PackStripsShared<F::config.threads>) <= shared_bytes(F::traits, F::config), "pack_strips: shared memory");
    packer.find_scales(split == 0 ? args.row_scales + set * (args.set_bytes / 4) : nullptr);
  }
  for (unsigned b = split * warps + threadIdx.x / packed_lanes; b < args.structure.k_blocks; b += warps * args.splits) packer.pack(b);
  publish_to_next_launch();
}

}  // namespace vostok
