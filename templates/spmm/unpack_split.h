// f32 elements of B split into 16-bit terms by the blocks that multiply them: what few blocks read is not worth a
// launch.
//
// Where the mode scales rows they are those of s v, where s is a power of two for each column and k block that brings
// the largest finite |s v| into [2^13, 2^14).
#pragma once

#include "abi/column_loss.h"
#include "abi/unpack_mma.h"
#include "parts/split_number.h"
#include "parts/vector.h"
#include "parts/warp.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_team.h"

namespace vostok {

/// Splits a stage into the terms of a buffer: a warp takes four columns, a lane eight neighbouring k of one.
template <class F>
class DenseSplit {
  static constexpr auto config = F::config;
  static constexpr PackedMode mode = config.mode;
  static constexpr int count = 8;
  using Wide = WideLines<tile_columns(config), F::traits.dense_layout>;

 public:
  static __device__ void split(const unsigned char* stage, unsigned char* terms, float* column_scales) {
    using Team = UnpackTeam<F>;
    const unsigned lane = threadIdx.x % 32;
    const unsigned octet = lane / 4;  // of k
#pragma unroll 1
    for (unsigned column = Team::thread() / 32 * 4 + lane % 4; column < tile_columns(config);
         column += Team::size / 8) {
      float values[count];
      load(values, stage, octet, column);
      if constexpr (packed_scales_rows(mode)) {
        const unsigned largest = largest_of_column(values);
        const float scale = __builtin_bit_cast(float, packed_power_bits(packed_scale_exponent(largest)));
#pragma unroll
        for (float& value : values) value *= scale;
        const unsigned lossy = F::traits.certify ? lossy_of_column(values) : 0;
        const unsigned inverse = marked_scale_bits(inverse_scale_bits(largest, F::traits.certify), lossy);
        if (octet == 0) column_scales[column] = __builtin_bit_cast(float, inverse);
      }
      store(values, terms + LinesAlongK::place(column, octet));
    }
  }

 private:
  static __device__ void load(float (&values)[count], const unsigned char* stage, unsigned octet, unsigned column) {
    if constexpr (Wide::along_k) {
#pragma unroll
      for (int i = 0; i < count; i += 4) {
        const auto four = *reinterpret_cast<const Vector<float, 4>*>(stage + Wide::place(column, 2 * octet + i / 4));
#pragma unroll
        for (int j = 0; j < 4; ++j) values[i + j] = four.at[j];
      }
    } else {
#pragma unroll
      for (int i = 0; i < count; ++i)
        values[i] = reinterpret_cast<const float*>(stage + Wide::place(octet * count + i, column / 4))[column % 4];
    }
  }

  static __device__ unsigned largest_of_column(const float (&values)[count]) {
    unsigned largest = 0;
#pragma unroll
    for (const float value : values) {
      const unsigned magnitude = finite_magnitude(value);
      largest = magnitude > largest ? magnitude : largest;
    }
    return warp_maximum<4>(largest);
  }

  /// How many scaled elements of the column lose more than their rounding.
  static __device__ unsigned lossy_of_column(const float (&values)[count]) {
    const bool maybe = any_may_lose<mode>([&](auto use) {
#pragma unroll
      for (const float value : values) use(value);
    });
    if (!__any_sync(0xffffffffU, maybe)) return 0;
    unsigned lossy = 0;
#pragma unroll
    for (const float value : values) lossy += loses<mode>(value) ? 1 : 0;
    return warp_sum<4>(lossy);
  }

  static __device__ void store(const float (&values)[count], unsigned char* chunk) {
    Vector<unsigned, count / 2> high;
    [[maybe_unused]] Vector<unsigned, count / 2> low;
#pragma unroll
    for (int i = 0; i < count; i += 2) {
      const SplitPair pair = split_pair<mode>(values[i], values[i + 1]);
      high.at[i / 2] = pair.high;
      low.at[i / 2] = pair.low;
    }
    *reinterpret_cast<Vector<unsigned, count / 2>*>(chunk) = high;
    if constexpr (terms(config) == 2)
      *reinterpret_cast<Vector<unsigned, count / 2>*>(chunk + dense_term_bytes(config)) = low;
  }
};

}  // namespace vostok
