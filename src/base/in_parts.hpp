// Work on the host, on all cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace vostok {

/// work(begin, end) for parts of [0, count), one for each core but with `least` items or more; returns when all are
/// done. `work` does not throw.
template <class Work>
void in_parts(std::int64_t count, std::int64_t least, const Work& work) {
  const std::int64_t parts = std::clamp<std::int64_t>(std::thread::hardware_concurrency(), 1, 1 + count / least);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(parts - 1));
  for (std::int64_t part = 1; part < parts; ++part)
    threads.emplace_back(work, count * part / parts, count * (part + 1) / parts);
  work(std::int64_t{0}, count / parts);
}

}  // namespace vostok
