// Independent items, several at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace vostok {

/// work(i) for every i below `count`, each taken by the next of `threads` threads that is free, this one among them;
/// returns when all are done. `work` does not throw.
template <class Work>
void each_in_turn(std::size_t count, std::size_t threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take);
  take();
}

}  // namespace vostok
