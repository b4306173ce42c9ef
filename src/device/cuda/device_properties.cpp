#include "device/cuda/device_properties.hpp"

#include <array>

#include "base/text.hpp"

namespace vostok::device::cuda {

namespace {

int attribute(const Driver& driver, DeviceHandle device, DeviceAttribute which) {
  int value = 0;
  driver.require("read a device attribute", driver.cuDeviceGetAttribute, &value, which, device);
  return value;
}

std::string device_name(const Driver& driver, DeviceHandle device) {
  std::array<char, 256> text{};
  driver.require("read the device's name", driver.cuDeviceGetName, text.data(), static_cast<int>(text.size()) - 1,
                 device);
  return text.data();
}

std::string pci_bus_id(const Driver& driver, DeviceHandle device) {
  std::array<char, 32> text{};
  driver.require("read the device's bus id", driver.cuDeviceGetPCIBusId, text.data(), static_cast<int>(text.size()) - 1,
                 device);
  return text.data();
}

/// "GPU-01234567-89ab-cdef-0123-456789abcdef", as nvidia-smi prints it.
std::string uuid_text(const Driver& driver, DeviceHandle device) {
  Uuid uuid{};
  // The second version tells the instances of a partitioned GPU apart.
  const auto& get = driver.cuDeviceGetUuid_v2 ? driver.cuDeviceGetUuid_v2 : driver.cuDeviceGetUuid;
  driver.require("read the device's uuid", get, &uuid, device);
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    const bool group_starts = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", group_starts ? "-" : "",
                        static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
  }
  return text;
}

}  // namespace

int fp32_lanes(int capability) { return capability < 86 ? 64 : 128; }

DeviceProperties read_properties(const Driver& driver, DeviceHandle device) {
  constexpr int khz_per_mhz = 1000;
  const auto read = [&](DeviceAttribute which) { return attribute(driver, device, which); };
  std::size_t memory_bytes = 0;
  driver.require("read the device's memory size", driver.cuDeviceTotalMem_v2, &memory_bytes, device);

  DeviceProperties properties;
  properties.capability = read(DeviceAttribute::capability_major) * 10 + read(DeviceAttribute::capability_minor);
  properties.max_shared_bytes = read(DeviceAttribute::shared_bytes_per_block_opt_in);
  properties.shared_bytes_per_multiprocessor = read(DeviceAttribute::shared_bytes_per_multiprocessor);
  properties.registers_per_multiprocessor = read(DeviceAttribute::registers_per_multiprocessor);
  properties.threads_per_multiprocessor = read(DeviceAttribute::threads_per_multiprocessor);
  properties.memory_pools = read(DeviceAttribute::memory_pools_supported) != 0;
  properties.pci_bus_id = pci_bus_id(driver, device);

  DeviceInfo& info = properties.info;
  info.name = device_name(driver, device);
  info.uuid = uuid_text(driver, device);
  info.architecture = fmt::format("sm_{}", properties.capability);
  info.gpu = true;
  info.multiprocessors = read(DeviceAttribute::multiprocessors);
  info.clock_mhz = read(DeviceAttribute::clock_khz) / khz_per_mhz;
  info.memory_clock_mhz = read(DeviceAttribute::memory_clock_khz) / khz_per_mhz;
  info.memory_bytes = static_cast<std::int64_t>(memory_bytes);
  info.l2_bytes = read(DeviceAttribute::l2_bytes);
  info.driver = driver.version_text();
  // A fused multiply-add counts as two operations; memory transfers twice a clock.
  info.peak_fp32_gflops = 2.0 * fp32_lanes(properties.capability) * info.multiprocessors * info.clock_mhz / 1000.0;
  info.peak_bandwidth_gb = 2.0 * read(DeviceAttribute::memory_bus_bits) / 8.0 * info.memory_clock_mhz / 1000.0;
  return properties;
}

}  // namespace vostok::device::cuda
