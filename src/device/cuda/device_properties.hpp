// Properties of one GPU as the driver reports them.
#pragma once

#include <string>

#include "device/cuda/driver_library.hpp"

namespace vostok::device::cuda {

struct DeviceProperties {
  DeviceInfo info;
  int capability = 0;  ///< 90 for 9.0
  int max_shared_bytes = 0;
  int shared_bytes_per_multiprocessor = 0;
  int registers_per_multiprocessor = 0;
  int threads_per_multiprocessor = 0;
  bool memory_pools = false;
  std::string pci_bus_id;
};

/// Errors: device_failure.
DeviceProperties read_properties(const Driver& driver, DeviceHandle device);

constexpr int oldest_capability = 75;

/// FP32 lanes of one SM.
int fp32_lanes(int capability);

}  // namespace vostok::device::cuda
