#include "sparse/generate.hpp"

namespace vostok::sparse {

std::uint64_t Random::bits() {
  // SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::normal() {
  // Twelve 32-bit uniforms: the sum is exact and its deviation is 2^32, so that no rounding depends on the machine.
  std::int64_t sum = 0;
  for (int i = 0; i < 6; ++i) {
    const std::uint64_t pair = bits();
    sum += static_cast<std::int64_t>((pair >> 32) + (pair & 0xffffffffU));
  }
  return static_cast<double>(sum - std::int64_t{6} * 0xffffffff) * 0x1p-32;
}

std::int64_t Random::below(std::int64_t end) {
  const auto range = static_cast<std::uint64_t>(end);
  const std::uint64_t uneven = -range % range;  // 2^64 mod range: so many draws would favour small numbers
  std::uint64_t drawn = bits();
  while (drawn < uneven) drawn = bits();
  return static_cast<std::int64_t>(drawn % range);
}

std::vector<float> normal_values(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

}  // namespace vostok::sparse
