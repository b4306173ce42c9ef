// One kernel launch, as the blocks of its grid see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "device/emulator/settings.hpp"
#include "device/emulator/shim/runtime.h"

namespace vostok::device::emulator {

inline constexpr int warp_lanes = 32;
inline constexpr int most_threads = 1024;

struct Launch {
  std::string_view kernel_name;
  vostok_emulator::KernelFunction* kernel = nullptr;
  vostok_emulator::SlotFunction* slot = nullptr;
  const void* arguments = nullptr;
  vostok_emulator::Index grid = {1, 1, 1};
  vostok_emulator::Index block = {1, 1, 1};
  std::size_t shared_bytes = 0;
  Order order = {};
  /// A ThreadSanitizer token: what every thread did comes before what the launch's caller does next.
  void* finished = nullptr;

  int threads() const { return static_cast<int>(block.x * block.y * block.z); }
  std::uint64_t blocks() const { return std::uint64_t{grid.x} * grid.y * grid.z; }
};

}  // namespace vostok::device::emulator
