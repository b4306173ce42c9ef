// A tile's sums on their way to the output: through shared memory, out of which its list gathers those that the mask names.
#pragma once

#include "parts/loads.h"
#include "parts/vector.h"
#include "sddmm/sampled_output.h"
#include "sddmm/tensor_sample_product.h"
#include "sddmm/tensor_sample_shared.h"

namespace vostok {

/// Where a place of a tile lies among its sums: rows are spread over the banks, so that a fragment's four rows at a time meet in none.
template <class F>
__device__ inline unsigned sum_place(unsigned place) {
  return place ^ (place / tile_columns(F::config) % 4 * 8);
}

/// `row` and `column`: the warp's first in the tile.
template <class F>
__device__ inline void store_sums(float* sums, const TileProduct<F>& product, unsigned row, unsigned column) {
  const unsigned lane = threadIdx.x % 32;
  constexpr unsigned columns = tile_columns(F::config);
#pragma unroll
  for (int q = 0; q < product.strip_count; ++q)
#pragma unroll
    for (int o = 0; o < product.octet_count; ++o)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const unsigned place = (row + q * 16 + half * 8 + lane / 4) * columns + column + o * 8 + lane % 4 * 2;
        *reinterpret_cast<Vector<float, 2>*>(sums + sum_place<F>(place)) = {product.element(q, o, 2 * half), product.element(q, o, 2 * half + 1)};
      }
}

/// sum * 2^exponent, where the exponent may be past what one number holds; two factors of half of it lose nothing that the result keeps.
__device__ inline float scaled(float sum, int exponent) {
  const int half = exponent >> 1;
  return sum * __builtin_bit_cast(float, packed_power_bits(half)) * __builtin_bit_cast(float, packed_power_bits(exponent - half));
}

/// Stores the sums that the tile's list names.
template <class F>
__device__ inline void gather_sums(const SampledOutput<F, F::config.stream_output>& output, const TileLists& lists, const TileInfo<F>& info,
                                   const float* sums) {
  constexpr auto config = F::config;
  constexpr unsigned columns = tile_columns(config);
  constexpr unsigned room = config.list_room;
  const unsigned entries = info.tile.entries;
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < entries; i += threads(config)) {
    const unsigned place = i < room ? info.places[i] : load_global(lists.places + info.tile.first_entry + i);
    float sum = sums[sum_place<F>(place)];
    if constexpr (sample_scales_rows(config.mode, F::traits.element))
      sum = scaled(sum, info.row_exponents[place / columns] + info.column_exponents[place % columns]);
    output.store(static_cast<int>(i) + info.row_shifts[place / columns], sum);
  }
}

}  // namespace vostok
