// What cost models take from a device. Their constants were made for an H200, which stands in where a query names no GPU.
#pragma once

#include "ops/family.hpp"

namespace vostok::ops {

struct Machine {
  double multiprocessors = 132;
  double cycles_per_us = 1900;
  double memory_bytes_per_us = 4.2e6;

  /// The rate of everything that grows with multiprocessors and clock, over an H200's.
  double speed() const {
    const Machine h200;
    return multiprocessors / h200.multiprocessors * cycles_per_us / h200.cycles_per_us;
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
