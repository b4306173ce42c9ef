// Where a strip of a tile's rows begins in the tile's list.
#pragma once

namespace vostok {

/// The first of `entries` whose place is not before `place`, or `entries`. Places ascend; `place_of` gives an entry's.
/// Lanes that search the same list for different places go through as many rounds.
template <class PlaceOf>
__device__ inline unsigned first_entry_from(unsigned entries, unsigned place, PlaceOf place_of) {
  if (entries == 0) return 0;
  unsigned first = 0;
#pragma unroll 1
  for (unsigned left = entries; left > 1;) {
    const unsigned half = left / 2;
    if (place_of(first + half - 1) < place) first += half;
    left -= half;
  }
  return first + (place_of(first) < place ? 1 : 0);
}

}  // namespace vostok
