// Devices for tests that run kernels below the planner: the emulator in several thread orders, and every GPU.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/source.hpp"
#include "device/device.hpp"
#include "device/emulator/emulator.hpp"
#include "ops/launch.hpp"

namespace vostok::test {

struct NamedDevice {
  std::string name;
  std::shared_ptr<device::Device> device;
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
    list.push_back({"emulator, seeded order", open_emulator({}, Settings{.order = {.kind = Order::Kind::seeded, .seed = 5}, .guard = Guard::end})});
    if (thread_sanitized) return list;
    list.push_back({"emulator, forward order", open_emulator({}, Settings{.order = {.kind = Order::Kind::forward}, .guard = Guard::start})});
    list.push_back({"emulator, reverse order", open_emulator({}, Settings{.order = {.kind = Order::Kind::reverse}, .guard = Guard::end})});
    std::string why;
    const int count = device::count_cuda(&why);
    for (int i = 0; i < count; ++i) list.push_back({"cuda:" + std::to_string(i), device::open_cuda(i, {})});
    if (count == 0) std::printf("GPU part skipped: %s\n", why.c_str());
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
