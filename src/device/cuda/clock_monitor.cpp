#include "device/cuda/clock_monitor.hpp"

#include "base/environment.hpp"
#include "base/text.hpp"
#include "device/cuda/shared_object.hpp"

namespace vostok::device::cuda {

namespace {

bool load_table(const SharedObject& object, NvmlApi& api) {
  bool complete = true;
#define VOSTOK_REQUIRED(symbol, ...) complete = object.find(api.symbol) && complete;
  VOSTOK_NVML_FUNCTIONS(VOSTOK_REQUIRED)
#undef VOSTOK_REQUIRED
  return complete;
}

}  // namespace

std::unique_ptr<ClockMonitor> ClockMonitor::open(const std::string& pci_bus_id, Finding& finding) {
  finding = {
      .what = "clocks", .where = trusted_environment("VOSTOK_LIBNVML").value_or("libnvidia-ml.so.1"), .state = {}};
  const SharedObject object = SharedObject::open(finding.where, &finding.state);
  if (!object) return nullptr;
  finding.where = object.path();
  NvmlApi api;
  if (!load_table(object, api)) {
    finding.state = "found, but functions are missing";
    return nullptr;
  }
  if (const NvmlResult result = api.nvmlInit_v2(); result != NvmlResult::success) {
    finding.state = fmt::format("found, but nvmlInit_v2 returned {}", static_cast<unsigned>(result));
    return nullptr;
  }
  std::unique_ptr<ClockMonitor> monitor(new ClockMonitor(api));
  if (const NvmlResult result = api.nvmlDeviceGetHandleByPciBusId_v2(pci_bus_id.c_str(), &monitor->device_);
      result != NvmlResult::success) {
    finding.state =
        fmt::format("found, but it does not know device {} (returned {})", pci_bus_id, static_cast<unsigned>(result));
    return nullptr;
  }
  finding.state = "found";
  finding.used = true;
  return monitor;
}

ClockMonitor::~ClockMonitor() { api_.nvmlShutdown(); }

std::optional<Clocks> ClockMonitor::read() const {
  unsigned sm_mhz = 0;
  unsigned memory_mhz = 0;
  if (api_.nvmlDeviceGetClockInfo(device_, ClockType::sm, &sm_mhz) != NvmlResult::success) return std::nullopt;
  if (api_.nvmlDeviceGetClockInfo(device_, ClockType::memory, &memory_mhz) != NvmlResult::success) return std::nullopt;
  return Clocks{.sm_mhz = static_cast<int>(sm_mhz), .memory_mhz = static_cast<int>(memory_mhz)};
}

}  // namespace vostok::device::cuda
