// Devices for tests that run kernels below the planner: the emulator in several thread orders, and every GPU.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codegen/source.hpp"
#include "device/device.hpp"
#include "device/emulator/emulator.hpp"
#include "device/gpus.hpp"
#include "ops/family.hpp"
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
    for (const std::string& name : gpu_names())
      list.push_back({name, device::open_cuda(std::stoi(name.substr(name.find(':') + 1)), {})});
    return list;
  }();
  return devices;
}

/// The GPUs that run a family of wgmma; says that it is skipped where there is none.
inline std::vector<NamedDevice> hoppers_of(const ops::Family& family) {
  std::vector<NamedDevice> found;
  for (const NamedDevice& on : kernel_devices())
    if (family.runs_on(on.device->architecture())) found.push_back(on);
  if (found.empty())
    std::printf("%s skipped: there is no GPU of sm_90, and the emulator has no wgmma\n",
                std::string(family.name()).c_str());
  return found;
}

/// Those of them that the family runs on: a GPU may be too old.
inline std::vector<NamedDevice> devices_of(const ops::Family& family) {
  std::vector<NamedDevice> found;
  for (const NamedDevice& on : kernel_devices()) {
    if (family.runs_on(on.device->architecture())) found.push_back(on);
    else MESSAGE(std::string(family.name()), " skipped: it does not run on ", on.name);
  }
  return found;
}

/// The emulator's thread orders together, and each GPU alone: what is tried once in a group is tried on every kind of
/// device.
inline std::vector<std::vector<NamedDevice>> device_groups(const std::vector<NamedDevice>& devices) {
  std::vector<std::vector<NamedDevice>> groups;
  for (const NamedDevice& on : devices) {
    if (!on.is_emulator() || groups.empty()) groups.emplace_back();
    groups.back().push_back(on);
  }
  return groups;
}

/// One of each group: the thread orders take turns.
inline std::vector<NamedDevice> devices_of_turn(const std::vector<NamedDevice>& devices, std::size_t turn) {
  std::vector<NamedDevice> list;
  for (const std::vector<NamedDevice>& group : device_groups(devices)) list.push_back(group[turn % group.size()]);
  return list;
}

/// Compiles, once for all devices of an architecture, and loads what a launch needs.
inline void load_kernel(device::Device& device, ops::Launch& launch) {
  static std::map<std::string, device::Image> images;
  const auto [image, is_new] = images.try_emplace(device.architecture() + launch.request().expression);
  if (is_new) image->second = device.compiler().compile(codegen::make_source(launch.request(), device.architecture()));
  launch.set_kernel(device.load(image->second, launch.shared_bytes()));
}

}  // namespace vostok::test
