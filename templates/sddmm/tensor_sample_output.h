// A tile's sums on their way to the output: through shared memory, out of which its list gathers those that the mask
// names.
#pragma once

#include "parts/loads.h"
#include "parts/vector.h"
#include "sddmm/sample_certificate.h"
#include "sddmm/sampled_output.h"
#include "sddmm/tile_info.h"

namespace vostok {

/// Where a place of a tile lies among its sums: rows are spread over the banks, so that a fragment's four rows at a
/// time meet in none.
template <class F>
__device__ inline unsigned sum_place(unsigned place) {
  return place ^ (place / tile_columns(F::config) % 4 * 8);
}

/// `row` and `column`: the warp's first in the tile. A product has fragments as mma's accumulators (parts/mma.h) of
/// strips of 16 rows and octets of columns, and begins at a multiple of four octets where it has as many: every fourth
/// of them lies as far from the one before, and few places are computed.
template <class F, class Product>
__device__ inline void store_sums(float* sums, const Product& product, unsigned row, unsigned column) {
  const unsigned lane = threadIdx.x % 32;
  constexpr unsigned columns = tile_columns(F::config);
  constexpr int octets = Product::octet_count;
  constexpr int period = octets < 4 ? octets : 4;
#pragma unroll
  for (int first = 0; first < period; ++first) {
    float* const to = sums + sum_place<F>((row + lane / 4) * columns + column + first * 8 + lane % 4 * 2);
#pragma unroll
    for (int q = 0; q < Product::strip_count; ++q)
#pragma unroll
      for (int o = first; o < octets; o += period)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<Vector<float, 2>*>(to + (q * 16 + half * 8) * columns + (o - first) * 8) = {
              product.element(q, o, 2 * half), product.element(q, o, 2 * half + 1)};
  }
}

/// sum * 2^exponent, where the exponent may be past what one number holds; two factors of half of it lose nothing that
/// the result keeps.
__device__ inline float scaled(float sum, int exponent) {
  const int half = exponent >> 1;
  return sum * __builtin_bit_cast(float, packed_power_bits(half)) *
         __builtin_bit_cast(float, packed_power_bits(exponent - half));
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

/// Stores the sums that a tile's list names, but for those that may be bad. Several entries at once go from their
/// places to their sums to the output: one after the other, each would wait for three loads. Returns whether one may be
/// bad.
template <class F, class PlaceOf>
__device__ inline bool gather_batches(const SampledOutput<F, F::config.stream_output>& output,
                                      const SampleCertificate<F>& certificate, const TileInfo<F>& info,
                                      const float* sums, const EntryWalk& walk, PlaceOf place_of) {
  constexpr unsigned columns = tile_columns(F::config);
  constexpr bool scales = sample_scales_rows(F::config.mode, F::traits.element);
  constexpr int batch = 4;
  const unsigned last = walk.end - 1;
  bool doubtful = false;
#pragma unroll 1
  for (unsigned first = walk.first; first < walk.end; first += batch * walk.step) {
    const unsigned left = walk.end - first;
    // Loads of no entry are those of the last one again: without branches all are under way at once.
    unsigned places[batch];
    float values[batch];
    int shifts[batch];
    int exponents[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      const unsigned entry = first + i * walk.step;
      places[i] = place_of(entry < last ? entry : last);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      values[i] = sums[sum_place<F>(places[i])];
      shifts[i] = info.row_shifts[places[i] / columns];
      if constexpr (scales)
        exponents[i] = info.row_exponents[places[i] / columns] + info.column_exponents[places[i] % columns];
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      bool fit = i * walk.step < left;
      if constexpr (SampleCertificate<F>::exists) {
        const bool holds = certificate.surely_holds(values[i]);
        doubtful |= !holds;  // where there is no entry, it is the last one's
        fit &= holds;
      }
      if constexpr (scales) values[i] = scaled(values[i], exponents[i]);
      if (fit) output.store(first + i * walk.step + static_cast<unsigned>(shifts[i]), values[i]);
    }
  }
  return doubtful;
}

/// Stores the sums that may be bad: as they are, or made again by the warp. Its lanes have neighbouring entries.
template <class F, class PlaceOf>
__device__ inline void store_doubtful(const SampledOutput<F, F::config.stream_output>& output,
                                      const SampleCertificate<F>& certificate, const TileInfo<F>& info,
                                      const float* sums, const EntryWalk& walk, PlaceOf place_of) {
  constexpr unsigned columns = tile_columns(F::config);
  const unsigned lane = threadIdx.x % 32;
#pragma unroll 1
  for (unsigned first = walk.first - lane; first < walk.end; first += walk.step) {
    const unsigned entry = first + lane;
    const bool exists = entry < walk.end;
    const unsigned place = exists ? place_of(entry) : 0;
    const unsigned at = entry + static_cast<unsigned>(info.row_shifts[place / columns]);
    float found = exists ? sums[sum_place<F>(place)] : 0.0F;  // other warps' sums may be changing
    const bool fails = exists && !certificate.holds(found, place);
    if (exists && !fails && !certificate.surely_holds(found)) {
      if constexpr (sample_scales_rows(F::config.mode, F::traits.element))
        found = scaled(found, info.row_exponents[place / columns] + info.column_exponents[place % columns]);
      output.store(at, found);
    }
#pragma unroll 1
    for (unsigned failing = __ballot_sync(0xffffffffU, fails); failing != 0; failing &= failing - 1) {
      const unsigned from = __ffs(static_cast<int>(failing)) - 1;
      const float sum = certificate.made_again(__shfl_sync(0xffffffffU, place, from));
      if (lane == from) output.store(at, sum);
    }
  }
}

template <class F>
__device__ inline void gather_sums(SampledOutput<F, F::config.stream_output> output,
                                   const SampleCertificate<F>& certificate, const TileLists& lists,
                                   const TileInfo<F>& info, const float* sums, const EntryWalk& walk) {
  constexpr unsigned room = F::config.list_room;
  output.keep_addresses();
  const auto listed = [&](unsigned entry) { return entry_place(lists, info, entry); };
  bool doubtful = false;
  if (walk.end <= room)
    doubtful =
        gather_batches<F>(output, certificate, info, sums, walk, [&](unsigned entry) { return info.places[entry]; });
  else doubtful = gather_batches<F>(output, certificate, info, sums, walk, listed);
  if constexpr (SampleCertificate<F>::exists)
    if (__any_sync(0xffffffffU, doubtful)) store_doubtful<F>(output, certificate, info, sums, walk, listed);
}

}  // namespace vostok
