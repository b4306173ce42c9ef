#include "tune/fill.hpp"

#include <algorithm>
#include <thread>
#include <vector>

namespace vostok::tune {

namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

void fill_uniform(float* data, std::int64_t count, std::uint64_t seed) {
  const std::int64_t parts = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, 1 + count / 100'000);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(parts));
  for (std::int64_t part = 0; part < parts; ++part) {
    threads.emplace_back([=] {
      for (std::int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i)
        data[i] = static_cast<float>(mix(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(i)) >> 40) * 0x1p-23F - 1.0F;
    });
  }
}

}  // namespace vostok::tune
