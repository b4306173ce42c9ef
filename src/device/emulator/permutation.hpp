// The orders in which threads and blocks run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "device/emulator/settings.hpp"

namespace vostok::device::emulator {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  std::uint64_t state_;
};

/// Reorders ascending thread numbers into the order in which they run next.
inline void arrange(std::span<int> threads, Order::Kind kind, Random& random) {
  if (kind == Order::Kind::reverse) std::reverse(threads.begin(), threads.end());
  if (kind == Order::Kind::seeded)
    for (std::size_t i = threads.size(); i > 1; --i) std::swap(threads[i - 1], threads[random.below(i)]);
}

/// A bijection of [0, count) that needs no memory: there are too many blocks to list.
class BlockOrder {
 public:
  BlockOrder(Order order, std::uint64_t count);
  std::uint64_t operator()(std::uint64_t turn) const;

 private:
  std::uint64_t count_;
  std::uint64_t factor_ = 1;  ///< coprime to count_
  std::uint64_t offset_ = 0;
};

}  // namespace vostok::device::emulator
