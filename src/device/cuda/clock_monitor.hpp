// The current clocks of one device, by NVML if it is installed.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/cuda/nvml_api.hpp"
#include "device/device.hpp"

namespace vostok::device::cuda {

class ClockMonitor {
 public:
  /// nullptr if NVML or its entry for the device is missing; `finding` reports what was found. The library is
  /// VOSTOK_LIBNVML if that is set, else the loader's libnvidia-ml.so.1.
  static std::unique_ptr<ClockMonitor> open(const std::string& pci_bus_id, Finding& finding);
  ~ClockMonitor();
  ClockMonitor(const ClockMonitor&) = delete;
  ClockMonitor& operator=(const ClockMonitor&) = delete;

  std::optional<Clocks> read() const;

 private:
  explicit ClockMonitor(const NvmlApi& api) : api_(api) {}
  NvmlApi api_;
  ManagedDevice device_ = nullptr;
};

}  // namespace vostok::device::cuda
