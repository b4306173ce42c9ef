// Which devices there are to test on.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/environment.hpp"
#include "device/device.hpp"

namespace vostok::test {

/// "cuda:0", ...; says once why there is none.
inline const std::vector<std::string>& gpu_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    std::string why;
    const int count = device::count_cuda(&why);
    for (int i = 0; i < count; ++i) list.push_back("cuda:" + std::to_string(i));
    if (count == 0) std::printf("GPU part skipped: %s\n", why.c_str());
    return list;
  }();
  return names;
}

/// Whether the emulator is tested, too. VOSTOK_TEST_DEVICES=gpu leaves it out where there is a GPU: checkers of GPU
/// memory have nothing to find in it.
inline bool tests_emulator() {
  return gpu_names().empty() || environment("VOSTOK_TEST_DEVICES").value_or("all") != "gpu";
}

}  // namespace vostok::test
