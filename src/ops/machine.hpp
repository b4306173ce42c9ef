// A device as cost models see it. Their constants were fitted on an H200, which stands in if a query names no GPU.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "ops/family.hpp"
#include "ops/limits.hpp"

namespace vostok::ops {

struct Machine {
  double multiprocessors = usual_multiprocessors;
  double cycles_per_us = 1900;
  double memory_bytes_per_us = 4.2e6;

  /// Speed relative to an H200 of everything that scales with SMs and clock.
  double speed() const {
    const Machine h200;
    return multiprocessors / h200.multiprocessors * cycles_per_us / h200.cycles_per_us;
  }

  /// SMs that clusters of this size can use, with one block on each: a cluster must fit one GPC. Values of an H200, of
  /// 132 SMs, by cuOccupancyMaxActiveClusters; sizes 5 and 7 use the value of 6.
  double clustered_multiprocessors(int cluster_blocks) const {
    constexpr std::array of_h200 = {132, 132, 117, 120, 102, 102, 102, 120};
    const auto place = static_cast<std::size_t>(std::clamp<int>(cluster_blocks, 1, of_h200.size()) - 1);
    return std::floor(multiprocessors * of_h200.at(place) / of_h200.front());
  }
};

inline Machine machine_of(const Query& query) {
  Machine machine;
  if (query.device == nullptr || !query.device->info().gpu) return machine;
  const DeviceInfo& info = query.device->info();
  if (info.multiprocessors > 0) machine.multiprocessors = info.multiprocessors;
  if (info.clock_mhz > 0) machine.cycles_per_us = info.clock_mhz;
  if (info.peak_bandwidth_gb > 0) machine.memory_bytes_per_us = info.peak_bandwidth_gb * 1e3 * 0.9;
  return machine;
}

}  // namespace vostok::ops
