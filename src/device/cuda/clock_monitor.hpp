// The current clocks of one device, from NVML where that is there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/cuda/nvml_api.hpp"
#include "device/device.hpp"

namespace vostok::device::cuda {

class ClockMonitor {
 public:
  /// nullptr where NVML or the device's entry in it is missing; `finding` says what was found. The library is
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
