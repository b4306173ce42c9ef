#include "tune/fill.hpp"

#include "base/in_parts.hpp"

namespace vostok::tune {

namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

void fill_uniform(float* data, std::int64_t count, std::uint64_t seed) {
  in_parts(count, 100'000, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      data[i] =
          static_cast<float>(mix(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(i)) >> 40) * 0x1p-23F - 1.0F;
  });
}

}  // namespace vostok::tune
