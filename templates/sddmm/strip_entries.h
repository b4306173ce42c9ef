// Which entries of a tile's list belong to a strip of its rows: a warp searches for both ends at once.
#pragma once

namespace vostok {

struct EntryRange {
  unsigned begin;
  unsigned end;
};

/// The entries whose places lie from `first_place` to before `end_place`, of `entries` whose places ascend. `place_of` gives an entry's. Half
/// of the lanes look for the begin and half for the end, each round at sixteen places that lie evenly in what is left.
template <class PlaceOf>
__device__ inline EntryRange entries_between(unsigned entries, unsigned first_place, unsigned end_place, PlaceOf place_of) {
  constexpr unsigned probes = 16;
  constexpr unsigned all = 0xffffffffU;
  const unsigned half = threadIdx.x % 32 / probes;
  const unsigned probe = threadIdx.x % probes;
  const unsigned bound = half == 0 ? first_place : end_place;
  unsigned low = 0;  // the first entry that is not before the bound lies from here on
  unsigned high = entries;
  while (__any_sync(all, low < high)) {
    const unsigned stride = (high - low + probes - 1) / probes;
    const unsigned entry = low + probe * stride;
    const bool before = entry < high && place_of(entry) < bound;
    const unsigned count = static_cast<unsigned>(__popc(__ballot_sync(all, before) >> (half * probes) & 0xffffU));
    if (count == 0) {
      high = low;
    } else {
      const unsigned next = low + count * stride;
      low = next - stride + 1;
      if (next < high) high = next;
    }
  }
  return {__shfl_sync(all, low, 0), __shfl_sync(all, low, probes)};
}

}  // namespace vostok
