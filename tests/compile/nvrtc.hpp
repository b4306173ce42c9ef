// NVRTC for tests that only compile.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>

#include "device/device.hpp"

namespace vostok::test {

/// NVRTC; null where there is none, after saying why `what` is skipped.
inline std::shared_ptr<const device::Compiler> nvrtc_for(const char* what) {
  try {
    return device::open_nvrtc(std::nullopt);
  } catch (const Error& error) {
    std::printf("%s skipped: %s\n", what, error.what());
    return nullptr;
  }
}

}  // namespace vostok::test
