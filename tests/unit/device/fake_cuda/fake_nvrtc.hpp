// The controls of the fake NVRTC: what versions and failures cannot be had from the real one.
#pragma once

#include "device/cuda/nvrtc_api.hpp"

namespace vostok::fake {

struct NvrtcControls {
  void (*reset)();  ///< version 12.1 that knows sm_75, sm_80 and sm_90 and every option
  void (*set_version)(int major, int minor);
  void (*refuse_option)(const char* option);  ///< as an NVRTC that does not know it
  /// Compiles after `after` that work end like this, with this log.
  void (*end_compiles)(int after, device::cuda::NvrtcResult result, const char* log);
  void (*give_output)(const char* text);  ///< what every compile makes, instead of its options: "FAKE lowered 64" is
                                          ///< what the fake driver loads
};
using GetNvrtcControls = const NvrtcControls* (*)();

}  // namespace vostok::fake
