// Copies that a kernel leaves to the device: ranges of memory to shared memory, at one instruction (cp.async.bulk).
#pragma once

#include "device/architecture.hpp"
#include "ops/family.hpp"

namespace vostok::ops {

/// Whether the query names a device that has them. The emulator does not.
inline bool has_copy_engine(const Query& query) {
  constexpr int first_capability = 90;
  return query.device != nullptr && device::capability_of(query.device->architecture()).value_or(0) >= first_capability;
}

}  // namespace vostok::ops
