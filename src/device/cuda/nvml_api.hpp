// The part of NVML, the driver's management library, that is used: clocks during measurements.
#pragma once

struct nvmlDevice_st;

namespace vostok::device::cuda {

using ManagedDevice = nvmlDevice_st*;

enum class NvmlResult : unsigned { success = 0 };
enum class ClockType : unsigned { sm = 1, memory = 2 };

template <class... Parameters>
struct NvmlFunction {
  using Signature = NvmlResult(Parameters...);
  const char* name;
  Signature* address = nullptr;
  NvmlResult operator()(Parameters... parameters) const { return address(parameters...); }
};

#define VOSTOK_NVML_FUNCTIONS(REQUIRED)                                   \
  REQUIRED(nvmlInit_v2)                                                   \
  REQUIRED(nvmlShutdown)                                                  \
  REQUIRED(nvmlDeviceGetHandleByPciBusId_v2, const char*, ManagedDevice*) \
  REQUIRED(nvmlDeviceGetClockInfo, ManagedDevice, ClockType, unsigned*)

struct NvmlApi {
#define VOSTOK_DECLARE(symbol, ...) NvmlFunction<__VA_ARGS__> symbol{#symbol};
  VOSTOK_NVML_FUNCTIONS(VOSTOK_DECLARE)
#undef VOSTOK_DECLARE
};

}  // namespace vostok::device::cuda
