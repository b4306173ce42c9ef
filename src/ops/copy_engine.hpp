// Copies by the device's copy engine: ranges of global memory to shared memory by one instruction (cp.async.bulk).
#pragma once

#include <string>

#include "device/architecture.hpp"
#include "ops/family.hpp"

namespace vostok::ops {

/// Whether the query names a device with a copy engine, or the emulator, where one thread stands in for it.
inline bool has_copy_engine(const Query& query) {
  constexpr int first_capability = 90;
  if (query.device == nullptr) return false;
  const std::string& architecture = query.device->architecture();
  const auto name = device::parse_architecture(architecture);
  return architecture == "emulator" || (name && name->capability >= first_capability);
}

}  // namespace vostok::ops
