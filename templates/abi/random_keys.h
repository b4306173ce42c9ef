// Random numbers that need no predecessor: a function of seed and place. The same on the host, the emulator and every
// GPU.
#pragma once

namespace vostok {

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
constexpr unsigned long long mix_bits(unsigned long long bits) {
  bits += 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

/// One-to-one on 32 bits: shifts that can be undone and odd factors, so that different numbers stay different.
constexpr unsigned mix_one_to_one(unsigned bits) {
  bits = (bits ^ (bits >> 16)) * 0x7feb352dU;
  bits = (bits ^ (bits >> 15)) * 0x846ca68bU;
  return bits ^ (bits >> 16);
}

constexpr unsigned long long row_seed(unsigned long long seed, long long row) {
  return mix_bits(mix_bits(seed) + static_cast<unsigned long long>(row));
}

/// Of each column of a row; no two columns of a row have the same, so that the largest k are exactly k.
constexpr unsigned distinct_key(unsigned long long of_row, long long column) {
  const unsigned first = mix_one_to_one(static_cast<unsigned>(column) ^ static_cast<unsigned>(of_row));
  return mix_one_to_one(first + static_cast<unsigned>(of_row >> 32));
}

/// Uniform on 32 bits, independent of its neighbours'.
constexpr unsigned draw(unsigned long long of_row, long long column) {
  return static_cast<unsigned>(mix_bits(of_row ^ (static_cast<unsigned long long>(column) * 0xd1342543de82ef95ULL)) >>
                               32);
}

}  // namespace vostok
