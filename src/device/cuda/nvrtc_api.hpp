// The part of NVRTC that is used, declared here so that building needs no CUDA header. The test of
// driver_api.hpp compares it with nvrtc.h.
#pragma once

#include <cstddef>

struct _nvrtcProgram;  // NOLINT: the library's own tag

namespace vostok::device::cuda {

using ProgramHandle = _nvrtcProgram*;

enum class NvrtcResult : unsigned {
  success = 0,
  invalid_option = 5,
  compilation = 6,
  builtin_operation_failure = 7,
  name_expression_not_valid = 10
};

template <class Return, class... Parameters>
struct NvrtcFunction {
  using Signature = Return(Parameters...);
  const char* name;
  Signature* address = nullptr;
  Return operator()(Parameters... parameters) const { return address(parameters...); }
};

// Every function used, once. All are in NVRTC 12.0, the first that knows C++20.
#define VOSTOK_NVRTC_FUNCTIONS(REQUIRED)                                                                       \
  REQUIRED(nvrtcVersion, NvrtcResult, int*, int*)                                                              \
  REQUIRED(nvrtcGetErrorString, const char*, NvrtcResult)                                                      \
  REQUIRED(nvrtcGetNumSupportedArchs, NvrtcResult, int*)                                                       \
  REQUIRED(nvrtcGetSupportedArchs, NvrtcResult, int*)                                                          \
  REQUIRED(nvrtcCreateProgram, NvrtcResult, ProgramHandle*, const char*, const char*, int, const char* const*, \
           const char* const*)                                                                                 \
  REQUIRED(nvrtcDestroyProgram, NvrtcResult, ProgramHandle*)                                                   \
  REQUIRED(nvrtcAddNameExpression, NvrtcResult, ProgramHandle, const char*)                                    \
  REQUIRED(nvrtcCompileProgram, NvrtcResult, ProgramHandle, int, const char* const*)                           \
  REQUIRED(nvrtcGetLoweredName, NvrtcResult, ProgramHandle, const char*, const char**)                         \
  REQUIRED(nvrtcGetProgramLogSize, NvrtcResult, ProgramHandle, std::size_t*)                                   \
  REQUIRED(nvrtcGetProgramLog, NvrtcResult, ProgramHandle, char*)                                              \
  REQUIRED(nvrtcGetCUBINSize, NvrtcResult, ProgramHandle, std::size_t*)                                        \
  REQUIRED(nvrtcGetCUBIN, NvrtcResult, ProgramHandle, char*)                                                   \
  REQUIRED(nvrtcGetPTXSize, NvrtcResult, ProgramHandle, std::size_t*)                                          \
  REQUIRED(nvrtcGetPTX, NvrtcResult, ProgramHandle, char*)

struct NvrtcApi {
#define VOSTOK_DECLARE(symbol, ...) NvrtcFunction<__VA_ARGS__> symbol{#symbol};
  VOSTOK_NVRTC_FUNCTIONS(VOSTOK_DECLARE)
#undef VOSTOK_DECLARE
};

}  // namespace vostok::device::cuda
