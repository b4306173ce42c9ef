// The room's entry points: devices, compilers, and what was found where.
#include "base/text.hpp"
#include "device/cuda/clock_monitor.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/nvrtc_compiler.hpp"

namespace vostok::device {

namespace {

/// One finding per GPU that the driver lists; `used` where this library can run on it.
std::vector<Finding> find_devices(const cuda::Driver& driver) {
  std::vector<Finding> findings;
  int count = 0;
  driver.require("count the GPUs", driver.cuDeviceGetCount, &count);
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    Finding& finding =
        findings.emplace_back(Finding{.what = "device", .where = fmt::format("cuda:{}", ordinal), .state = {}});
    try {
      cuda::DeviceHandle device = 0;
      driver.require("open the GPU", driver.cuDeviceGet, &device, ordinal);
      const cuda::DeviceProperties properties = cuda::read_properties(driver, device);
      finding.used = properties.capability >= cuda::oldest_capability;
      finding.state = fmt::format("{}, {}, {}{}", properties.info.name, properties.info.architecture,
                                  properties.info.uuid, finding.used ? "" : ", too old");
    } catch (const Error& error) {
      finding.state = error.what();
    }
  }
  if (findings.empty()) findings.push_back({.what = "device", .where = "cuda:0", .state = "the driver lists no GPU"});
  return findings;
}

/// Whether the clocks of cuda:0 can be read while measuring.
Finding find_clocks(const cuda::Driver& driver) {
  cuda::DeviceHandle device = 0;
  driver.require("open the GPU", driver.cuDeviceGet, &device, 0);
  Finding finding;
  cuda::ClockMonitor::open(cuda::read_properties(driver, device).pci_bus_id, finding);
  return finding;
}

void append(std::vector<Finding>& to, const std::vector<Finding>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::shared_ptr<Device> open_cuda(int ordinal, const OpenOptions& options) {
  return make_shared_here<cuda::CudaDevice>(cuda::open_driver(), ordinal, options);
}

int count_cuda(std::string* why) {
  try {
    const std::vector<Finding> devices = find_devices(*cuda::open_driver());
    int usable = 0;
    for (const Finding& device : devices) usable += device.used ? 1 : 0;
    if (usable == 0 && why != nullptr) *why = cuda::join_findings(devices);
    return usable;
  } catch (const Error& error) {
    if (why != nullptr) *why = error.what();
    return 0;
  }
}

std::shared_ptr<const Compiler> open_nvrtc(const std::optional<std::filesystem::path>& explicit_path) {
  auto compiler = std::make_shared<cuda::NvrtcCompiler>(explicit_path);
  compiler->library();
  return compiler;
}

std::vector<std::string> nvrtc_architectures(const Compiler& nvrtc) {
  const auto* compiler = dynamic_cast<const cuda::NvrtcCompiler*>(&nvrtc);
  if (compiler == nullptr)
    fail(ErrorCode::invalid_argument, "cannot list the architectures of {}: it is not NVRTC", nvrtc.identity());
  std::vector<std::string> names;
  for (const int number : compiler->library().architectures()) names.push_back(fmt::format("sm_{}", number));
  return names;
}

std::vector<Finding> find_cuda(const OpenOptions& options) {
  const cuda::DriverSearch driver = cuda::DriverSearch::run();
  std::vector<Finding> findings = driver.findings;
  if (driver.driver) {
    try {
      append(findings, find_devices(*driver.driver));
      findings.push_back(find_clocks(*driver.driver));
    } catch (const Error& error) {
      findings.push_back({.what = "device", .where = "cuda:0", .state = error.what()});
    }
  }
  append(findings, cuda::NvrtcSearch::run(cuda::nvrtc_places(options.nvrtc)).findings);
  return findings;
}

}  // namespace vostok::device
