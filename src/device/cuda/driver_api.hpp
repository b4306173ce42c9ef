// The part of the CUDA driver API that is used, declared here so that building needs no CUDA header. A test compares
// every declaration with the toolkit's cuda.h, and every symbol with its stub library, if those are installed.
#pragma once

#include <cstddef>
#include <cstdint>

// The driver's own tags, at global scope, so that its handles and ours are one type.
// NOLINTBEGIN(readability-identifier-naming): the driver's names
struct CUctx_st;
struct CUevent_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUkern_st;
struct CUlib_st;
struct CUmemPoolHandle_st;
struct CUmod_st;
struct CUstream_st;
// NOLINTEND(readability-identifier-naming)

namespace vostok::device::cuda {

using ContextHandle = CUctx_st*;
using EventHandle = CUevent_st*;
using FunctionHandle = CUfunc_st*;
using GraphHandle = CUgraph_st*;
using GraphExecHandle = CUgraphExec_st*;
using KernelHandle = CUkern_st*;
using LibraryHandle = CUlib_st*;
using PoolHandle = CUmemPoolHandle_st*;
using ModuleHandle = CUmod_st*;
using StreamHandle = CUstream_st*;
using DeviceHandle = int;
using DevicePointer = unsigned long long;

/// Codes that the library or its tests act on have a name here; others may occur.
enum class Result : unsigned {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  not_initialized = 3,
  invalid_image = 200,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  launch_failed = 719,
  capture_unsupported = 900,
  capture_implicit = 906
};

enum class DeviceAttribute : unsigned {
  clock_khz = 13,
  multiprocessors = 16,
  memory_clock_khz = 36,
  memory_bus_bits = 37,
  l2_bytes = 38,
  threads_per_multiprocessor = 39,
  capability_major = 75,
  capability_minor = 76,
  shared_bytes_per_multiprocessor = 81,
  registers_per_multiprocessor = 82,
  shared_bytes_per_block_opt_in = 97,
  memory_pools_supported = 115
};

enum class FunctionAttribute : unsigned { max_dynamic_shared_bytes = 8 };
enum class PointerAttribute : unsigned { memory_type = 2 };
enum class MemoryType : unsigned { host = 1, device = 2 };
enum class CaptureMode : unsigned { global = 0, thread_local_mode = 1, relaxed = 2 };
enum class CaptureStatus : unsigned { none = 0, active = 1, invalidated = 2 };
enum class JitOption : unsigned { error_log_buffer = 5, error_log_bytes = 6 };
enum class TensorDataType : unsigned { f16 = 6, f32 = 7, bf16 = 9 };
enum class TensorInterleave : unsigned { none = 0 };
enum class TensorSwizzle : unsigned { none = 0, bytes_128 = 3 };
enum class TensorL2Promotion : unsigned { bytes_256 = 3 };
enum class TensorFill : unsigned { zeros = 0 };
enum class LibraryOption : unsigned { binary_is_preserved = 1 };
enum class PoolAttribute : unsigned { release_threshold = 4 };
enum class AllocationType : unsigned { pinned = 1 };
enum class ShareHandleType : unsigned { none = 0 };
enum class LocationType : unsigned { device = 1 };
enum class LaunchAttributeId : unsigned { cluster_dimension = 4, programmatic_stream_serialization = 6 };

constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_default = 0;
constexpr unsigned event_disable_timing = 2;

struct Uuid {
  char bytes[16];
};

struct ClusterDimension {
  unsigned x;
  unsigned y;
  unsigned z;
};

struct LaunchAttribute {
  LaunchAttributeId id;
  char padding[8 - sizeof(LaunchAttributeId)];
  union {
    char bytes[64];
    ClusterDimension cluster_dimension;
    int programmatic_stream_serialization_allowed;
  } value;
};

struct MemoryLocation {
  LocationType type;
  int id;
};

struct PoolProperties {
  AllocationType allocation;
  ShareHandleType share;
  MemoryLocation location;
  void* security_attributes;  ///< of Windows
  char defaults[64];          ///< differ by version; zeros are the defaults
};

/// A tensor map, opaque. The headers' own is aligned to 64 or 128 bytes, by version; the function asks for 64.
struct alignas(64) EncodedTensorMap {
  std::uint64_t opaque[16];
};

struct LaunchConfig {
  unsigned grid_x;
  unsigned grid_y;
  unsigned grid_z;
  unsigned block_x;
  unsigned block_y;
  unsigned block_z;
  unsigned shared_bytes;
  StreamHandle stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// One function of the library: its exported name and, once loaded, its address.
template <class... Parameters>
struct DriverFunction {
  using Signature = Result(Parameters...);
  const char* name;
  Signature* address = nullptr;
  explicit operator bool() const { return address != nullptr; }
  Result operator()(Parameters... parameters) const { return address(parameters...); }
};

// Every function used, once: REQUIRED ones are in CUDA 11.8, the first driver with cuLaunchKernelEx; OPTIONAL ones are
// newer or depend on the device. The exported name carries the version: plain cuMemAlloc is the 32-bit one of old.
#define VOSTOK_DRIVER_FUNCTIONS(REQUIRED, OPTIONAL)                                                              \
  REQUIRED(cuInit, unsigned)                                                                                     \
  REQUIRED(cuDriverGetVersion, int*)                                                                             \
  REQUIRED(cuGetErrorName, Result, const char**)                                                                 \
  REQUIRED(cuGetErrorString, Result, const char**)                                                               \
  REQUIRED(cuDeviceGetCount, int*)                                                                               \
  REQUIRED(cuDeviceGet, DeviceHandle*, int)                                                                      \
  REQUIRED(cuDeviceGetName, char*, int, DeviceHandle)                                                            \
  REQUIRED(cuDeviceGetUuid, Uuid*, DeviceHandle)                                                                 \
  REQUIRED(cuDeviceGetPCIBusId, char*, int, DeviceHandle)                                                        \
  REQUIRED(cuDeviceTotalMem_v2, std::size_t*, DeviceHandle)                                                      \
  REQUIRED(cuDeviceGetAttribute, int*, DeviceAttribute, DeviceHandle)                                            \
  REQUIRED(cuDevicePrimaryCtxRetain, ContextHandle*, DeviceHandle)                                               \
  REQUIRED(cuDevicePrimaryCtxRelease_v2, DeviceHandle)                                                           \
  REQUIRED(cuCtxGetCurrent, ContextHandle*)                                                                      \
  REQUIRED(cuCtxSetCurrent, ContextHandle)                                                                       \
  REQUIRED(cuCtxGetDevice, DeviceHandle*)                                                                        \
  REQUIRED(cuThreadExchangeStreamCaptureMode, CaptureMode*)                                                      \
  REQUIRED(cuStreamCreate, StreamHandle*, unsigned)                                                              \
  REQUIRED(cuStreamDestroy_v2, StreamHandle)                                                                     \
  REQUIRED(cuStreamSynchronize, StreamHandle)                                                                    \
  REQUIRED(cuStreamWaitEvent, StreamHandle, EventHandle, unsigned)                                               \
  REQUIRED(cuStreamIsCapturing, StreamHandle, CaptureStatus*)                                                    \
  REQUIRED(cuStreamBeginCapture_v2, StreamHandle, CaptureMode)                                                   \
  REQUIRED(cuStreamEndCapture, StreamHandle, GraphHandle*)                                                       \
  REQUIRED(cuGraphDestroy, GraphHandle)                                                                          \
  REQUIRED(cuGraphInstantiateWithFlags, GraphExecHandle*, GraphHandle, unsigned long long)                       \
  REQUIRED(cuGraphExecDestroy, GraphExecHandle)                                                                  \
  REQUIRED(cuGraphUpload, GraphExecHandle, StreamHandle)                                                         \
  REQUIRED(cuGraphLaunch, GraphExecHandle, StreamHandle)                                                         \
  REQUIRED(cuEventCreate, EventHandle*, unsigned)                                                                \
  REQUIRED(cuEventDestroy_v2, EventHandle)                                                                       \
  REQUIRED(cuEventRecord, EventHandle, StreamHandle)                                                             \
  REQUIRED(cuEventQuery, EventHandle)                                                                            \
  REQUIRED(cuEventSynchronize, EventHandle)                                                                      \
  REQUIRED(cuEventElapsedTime, float*, EventHandle, EventHandle)                                                 \
  REQUIRED(cuMemAlloc_v2, DevicePointer*, std::size_t)                                                           \
  REQUIRED(cuMemFree_v2, DevicePointer)                                                                          \
  REQUIRED(cuMemcpyHtoDAsync_v2, DevicePointer, const void*, std::size_t, StreamHandle)                          \
  REQUIRED(cuMemcpyDtoHAsync_v2, void*, DevicePointer, std::size_t, StreamHandle)                                \
  REQUIRED(cuMemsetD8Async, DevicePointer, unsigned char, std::size_t, StreamHandle)                             \
  REQUIRED(cuPointerGetAttribute, void*, PointerAttribute, DevicePointer)                                        \
  REQUIRED(cuModuleLoadDataEx, ModuleHandle*, const void*, unsigned, JitOption*, void**)                         \
  REQUIRED(cuModuleGetFunction, FunctionHandle*, ModuleHandle, const char*)                                      \
  REQUIRED(cuModuleUnload, ModuleHandle)                                                                         \
  REQUIRED(cuFuncSetAttribute, FunctionHandle, FunctionAttribute, int)                                           \
  REQUIRED(cuLaunchKernelEx, const LaunchConfig*, FunctionHandle, void**, void**)                                \
  REQUIRED(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, FunctionHandle, int, std::size_t)                  \
  OPTIONAL(cuDeviceGetUuid_v2, Uuid*, DeviceHandle)                                                              \
  OPTIONAL(cuMemPoolCreate, PoolHandle*, const PoolProperties*)                                                  \
  OPTIONAL(cuMemPoolSetAttribute, PoolHandle, PoolAttribute, void*)                                              \
  OPTIONAL(cuMemPoolDestroy, PoolHandle)                                                                         \
  OPTIONAL(cuMemAllocFromPoolAsync, DevicePointer*, std::size_t, PoolHandle, StreamHandle)                       \
  OPTIONAL(cuMemFreeAsync, DevicePointer, StreamHandle)                                                          \
  OPTIONAL(cuLibraryLoadData, LibraryHandle*, const void*, JitOption*, void**, unsigned, LibraryOption*, void**, \
           unsigned)                                                                                             \
  OPTIONAL(cuLibraryGetKernel, KernelHandle*, LibraryHandle, const char*)                                        \
  OPTIONAL(cuLibraryUnload, LibraryHandle)                                                                       \
  OPTIONAL(cuKernelGetFunction, FunctionHandle*, KernelHandle)                                                   \
  OPTIONAL(cuFuncLoad, FunctionHandle)                                                                           \
  OPTIONAL(cuFuncGetParamInfo, FunctionHandle, std::size_t, std::size_t*, std::size_t*)                          \
  OPTIONAL(cuTensorMapEncodeTiled, EncodedTensorMap*, TensorDataType, unsigned, void*, const std::uint64_t*,     \
           const std::uint64_t*, const std::uint32_t*, const std::uint32_t*, TensorInterleave, TensorSwizzle,    \
           TensorL2Promotion, TensorFill)

/// The table of functions. Members carry the exported names, so that the name called is the name looked up.
struct DriverApi {
#define VOSTOK_DECLARE(symbol, ...) DriverFunction<__VA_ARGS__> symbol{#symbol};
  VOSTOK_DRIVER_FUNCTIONS(VOSTOK_DECLARE, VOSTOK_DECLARE)
#undef VOSTOK_DECLARE
};

}  // namespace vostok::device::cuda
