// Devices for tests that run kernels below the planner: the emulator in several thread orders, and every GPU.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/source.hpp"
#include "device/device.hpp"
#include "device/emulator/emulator.hpp"
#include "device/gpus.hpp"
#include "ops/launch.hpp"

namespace vostok::test {

struct NamedDevice {
  std::string name;
  std::shared_ptr<device::Device> device;

  bool is_emulator() const { return name.starts_with("emulator"); }
};

/// ThreadSanitizer takes a thousand times as long for a kernel: there one thread order, and fewer cases, have to do.
#ifdef VOSTOK_THREAD_SANITIZER
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

/// The emulator in several thread orders and with guard pages at either end, and every GPU.
inline const std::vector<NamedDevice>& kernel_devices() {
  static const std::vector<NamedDevice> devices = [] {
    using namespace device::emulator;
    std::vector<NamedDevice> list;
    const auto emulator = [&](const char* name, Order order, Guard guard) {
      if (tests_emulator()) list.push_back({name, open_emulator({}, Settings{.order = order, .guard = guard})});
    };
    emulator("emulator, seeded order", {.kind = Order::Kind::seeded, .seed = 5}, Guard::end);
    if (thread_sanitized) return list;
    emulator("emulator, forward order", {.kind = Order::Kind::forward}, Guard::start);
    emulator("emulator, reverse order", {.kind = Order::Kind::reverse}, Guard::end);
    for (const std::string& name : gpu_names()) list.push_back({name, device::open_cuda(std::stoi(name.substr(name.find(':') + 1)), {})});
    return list;
  }();
  return devices;
}

/// Compiles, once for all devices of an architecture, and loads what a launch needs.
inline void load_kernel(device::Device& device, ops::Launch& launch) {
  static std::map<std::string, device::Image> images;
  const auto [image, is_new] = images.try_emplace(device.architecture() + launch.request().expression);
  if (is_new) image->second = device.compiler().compile(codegen::make_source(launch.request(), device.architecture()));
  launch.set_kernel(device.load(image->second, launch.shared_bytes()));
}

}  // namespace vostok::test
