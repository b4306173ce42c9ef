// A tile's sums on their way to the output: through shared memory, out of which its list gathers those that the mask names.
#pragma once

#include "parts/loads.h"
#include "parts/vector.h"
#include "sddmm/sampled_output.h"
#include "sddmm/tile_info.h"

namespace vostok {

/// Where a place of a tile lies among its sums: rows are spread over the banks, so that a fragment's four rows at a time meet in none.
template <class F>
__device__ inline unsigned sum_place(unsigned place) {
  return place ^ (place / tile_columns(F::config) % 4 * 8);
}

/// `row` and `column`: the warp's first in the tile. A product has fragments as mma's accumulators (parts/mma.h) of strips of 16 rows and
/// octets of columns.
template <class F, class Product>
__device__ inline void store_sums(float* sums, const Product& product, unsigned row, unsigned column) {
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

/// The entry of a tile's list: beyond what there is room for it is read where the list lies.
template <class F>
__device__ inline unsigned entry_place(const TileLists& lists, const TileInfo<F>& info, unsigned entry) {
  constexpr unsigned room = F::config.list_room;
  return entry < room ? info.places[entry] : load_global(lists.places + info.tile.first_entry + entry);
}

/// Entries from `first` on in steps, up to `end`: those of one thread.
struct EntryWalk {
  unsigned first;
  unsigned end;
  unsigned step;
};

/// Stores the sums that a tile's list names. Several entries at once go from their places to their sums to the output: one after the
/// other, each would wait for three loads.
template <class F, class PlaceOf>
__device__ inline void gather_batches(const SampledOutput<F, F::config.stream_output>& output, const TileInfo<F>& info, const float* sums,
                                      const EntryWalk& walk, PlaceOf place_of) {
  constexpr unsigned columns = tile_columns(F::config);
  constexpr bool scales = sample_scales_rows(F::config.mode, F::traits.element);
  constexpr int batch = 4;
#pragma unroll 1
  for (unsigned first = walk.first; first < walk.end; first += batch * walk.step) {
    // Loads of no entry are those of the last one again: without branches all are under way at once.
    unsigned places[batch];
    float values[batch];
    int shifts[batch];
    int exponents[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const unsigned entry = first + i * walk.step;
      places[i] = place_of(entry < walk.end ? entry : walk.end - 1);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      values[i] = sums[sum_place<F>(places[i])];
      shifts[i] = info.row_shifts[places[i] / columns];
      if constexpr (scales) exponents[i] = info.row_exponents[places[i] / columns] + info.column_exponents[places[i] % columns];
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const unsigned entry = first + i * walk.step;
      if constexpr (scales) values[i] = scaled(values[i], exponents[i]);
      if (entry < walk.end) output.store(static_cast<int>(entry) + shifts[i], values[i]);
    }
  }
}

template <class F>
__device__ inline void gather_sums(const SampledOutput<F, F::config.stream_output>& output, const TileLists& lists, const TileInfo<F>& info,
                                   const float* sums, const EntryWalk& walk) {
  constexpr unsigned room = F::config.list_room;
  if (walk.end <= room) gather_batches<F>(output, info, sums, walk, [&](unsigned entry) { return info.places[entry]; });
  else gather_batches<F>(output, info, sums, walk, [&](unsigned entry) { return entry_place(lists, info, entry); });
}

}  // namespace vostok
