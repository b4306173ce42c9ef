// driver_api.hpp and nvrtc_api.hpp against the toolkit's own headers and stub library, where they are installed.
#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <type_traits>

#include "device/cuda/driver_api.hpp"
#include "device/cuda/nvrtc_api.hpp"
#include "device/cuda/shared_object.hpp"

#ifdef VOSTOK_HAVE_CUDA_HEADERS
// Every version of every function under its exported name, and no macros over them.
#define __CUDA_API_VERSION_INTERNAL  // NOLINT(bugprone-reserved-identifier): cuda.h's own
#include <cuda.h>
#include <nvrtc.h>
#endif

using namespace vostok::device::cuda;

#ifdef VOSTOK_HAVE_CUDA_HEADERS

namespace {

/// Whether a type of ours and one of the toolkit's are passed the same way and mean the same. Enumerations and structs
/// of ours stand for exactly one of the toolkit's; their values and layouts are compared below.
template <class Ours, class Theirs>
struct Pair : std::false_type {};
template <>
struct Pair<Result, CUresult> : std::true_type {};
template <>
struct Pair<DeviceAttribute, CUdevice_attribute> : std::true_type {};
template <>
struct Pair<FunctionAttribute, CUfunction_attribute> : std::true_type {};
template <>
struct Pair<PointerAttribute, CUpointer_attribute> : std::true_type {};
template <>
struct Pair<CaptureMode, CUstreamCaptureMode> : std::true_type {};
template <>
struct Pair<CaptureStatus, CUstreamCaptureStatus> : std::true_type {};
template <>
struct Pair<JitOption, CUjit_option> : std::true_type {};
template <>
struct Pair<LibraryOption, CUlibraryOption> : std::true_type {};
template <>
struct Pair<LaunchAttributeId, CUlaunchAttributeID> : std::true_type {};
template <>
struct Pair<Uuid, CUuuid> : std::true_type {};
template <>
struct Pair<LaunchConfig, CUlaunchConfig> : std::true_type {};
template <>
struct Pair<LaunchAttribute, CUlaunchAttribute> : std::true_type {};
template <>
struct Pair<PoolProperties, CUmemPoolProps> : std::true_type {};
template <>
struct Pair<PoolAttribute, CUmemPool_attribute> : std::true_type {};
template <>
struct Pair<TensorDataType, CUtensorMapDataType> : std::true_type {};
template <>
struct Pair<TensorInterleave, CUtensorMapInterleave> : std::true_type {};
template <>
struct Pair<TensorSwizzle, CUtensorMapSwizzle> : std::true_type {};
template <>
struct Pair<TensorL2Promotion, CUtensorMapL2promotion> : std::true_type {};
template <>
struct Pair<TensorFill, CUtensorMapFloatOOBfill> : std::true_type {};
template <>
struct Pair<EncodedTensorMap, CUtensorMap> : std::true_type {};
/// Passed by address alone: headers of different versions align it to 64 or 128 bytes, the function asks for 64.
template <class Ours>
constexpr bool is_passed_by_address = std::is_same_v<Ours, EncodedTensorMap>;
template <>
struct Pair<NvrtcResult, nvrtcResult> : std::true_type {};

template <class Ours, class Theirs>
constexpr bool same_type() {
  if constexpr (std::is_same_v<Ours, Theirs>) {
    return true;
  } else if constexpr (std::is_const_v<Ours> || std::is_const_v<Theirs>) {
    if constexpr (std::is_const_v<Ours> && std::is_const_v<Theirs>) {
      return same_type<std::remove_const_t<Ours>, std::remove_const_t<Theirs>>();
    } else {
      return false;
    }
  } else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    return same_type<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>();
  } else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  } else if constexpr (Pair<Ours, Theirs>::value) {
    return sizeof(Ours) == sizeof(Theirs) && (alignof(Ours) == alignof(Theirs) || is_passed_by_address<Ours>);
  } else {
    return false;
  }
}

template <class Ours, class Theirs>
struct SameSignature : std::false_type {};
template <class OurReturn, class... Ours, class TheirReturn, class... Theirs>
struct SameSignature<OurReturn(Ours...), TheirReturn(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return same_type<OurReturn, TheirReturn>() && (same_type<Ours, Theirs>() && ...);
    }
  }();
};

template <class Enumeration, class Value>
constexpr bool same_value(Enumeration ours, Value theirs) {
  return Pair<Enumeration, Value>::value && static_cast<unsigned>(ours) == static_cast<unsigned>(theirs);
}

}  // namespace

TEST_CASE("the comparison of signatures refuses a missing parameter, another width and another enumeration") {
  CHECK(SameSignature<Result(int*), CUresult(int*)>::value);
  CHECK_FALSE(SameSignature<Result(int*), CUresult(int*, int)>::value);
  CHECK_FALSE(SameSignature<Result(int), CUresult(long)>::value);
  CHECK_FALSE(SameSignature<Result(int*), CUresult(const int*)>::value);
  CHECK_FALSE(SameSignature<Result(CaptureMode), CUresult(CUstreamCaptureStatus)>::value);
  CHECK_FALSE(same_value(Result::not_found, CUDA_ERROR_INVALID_DEVICE));
}

TEST_CASE("every driver function is declared as in cuda.h") {
  const DriverApi api;
#define VOSTOK_COMPARE(symbol, ...)                                                                           \
  CHECK_MESSAGE((SameSignature<decltype(api.symbol)::Signature, decltype(::symbol)>::value), api.symbol.name, \
                " differs from cuda.h");
  VOSTOK_DRIVER_FUNCTIONS(VOSTOK_COMPARE, VOSTOK_COMPARE)
#undef VOSTOK_COMPARE
}

TEST_CASE("every NVRTC function is declared as in nvrtc.h") {
  const NvrtcApi api;
#define VOSTOK_COMPARE(symbol, ...)                                                                           \
  CHECK_MESSAGE((SameSignature<decltype(api.symbol)::Signature, decltype(::symbol)>::value), api.symbol.name, \
                " differs from nvrtc.h");
  VOSTOK_NVRTC_FUNCTIONS(VOSTOK_COMPARE)
#undef VOSTOK_COMPARE
}

TEST_CASE("enumerators have the values of the toolkit's headers") {
  CHECK(same_value(Result::success, CUDA_SUCCESS));
  CHECK(same_value(Result::invalid_value, CUDA_ERROR_INVALID_VALUE));
  CHECK(same_value(Result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY));
  CHECK(same_value(Result::not_initialized, CUDA_ERROR_NOT_INITIALIZED));
  CHECK(same_value(Result::invalid_image, CUDA_ERROR_INVALID_IMAGE));
  CHECK(same_value(Result::invalid_handle, CUDA_ERROR_INVALID_HANDLE));
  CHECK(same_value(Result::not_found, CUDA_ERROR_NOT_FOUND));
  CHECK(same_value(Result::not_ready, CUDA_ERROR_NOT_READY));
  CHECK(same_value(Result::launch_failed, CUDA_ERROR_LAUNCH_FAILED));
  CHECK(same_value(Result::capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
  CHECK(same_value(Result::capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT));

  CHECK(same_value(DeviceAttribute::clock_khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  CHECK(same_value(DeviceAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  CHECK(same_value(DeviceAttribute::memory_clock_khz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
  CHECK(same_value(DeviceAttribute::memory_bus_bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  CHECK(same_value(DeviceAttribute::l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  CHECK(same_value(DeviceAttribute::threads_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
  CHECK(same_value(DeviceAttribute::capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  CHECK(same_value(DeviceAttribute::capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  CHECK(same_value(DeviceAttribute::shared_bytes_per_multiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  CHECK(
      same_value(DeviceAttribute::registers_per_multiprocessor, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
  CHECK(same_value(DeviceAttribute::shared_bytes_per_block_opt_in,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  CHECK(same_value(DeviceAttribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED));

  CHECK(same_value(FunctionAttribute::max_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  CHECK(same_value(PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE));
  CHECK(static_cast<int>(MemoryType::host) == CU_MEMORYTYPE_HOST);
  CHECK(static_cast<int>(MemoryType::device) == CU_MEMORYTYPE_DEVICE);
  CHECK(same_value(CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(same_value(CaptureMode::thread_local_mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(same_value(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK(same_value(CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE));
  CHECK(same_value(CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE));
  CHECK(same_value(CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED));
  CHECK(same_value(JitOption::error_log_buffer, CU_JIT_ERROR_LOG_BUFFER));
  CHECK(same_value(JitOption::error_log_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
  CHECK(same_value(LibraryOption::binary_is_preserved, CU_LIBRARY_BINARY_IS_PRESERVED));
  CHECK(same_value(PoolAttribute::release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
  CHECK(static_cast<int>(AllocationType::pinned) == CU_MEM_ALLOCATION_TYPE_PINNED);
  CHECK(static_cast<int>(ShareHandleType::none) == CU_MEM_HANDLE_TYPE_NONE);
  CHECK(static_cast<int>(LocationType::device) == CU_MEM_LOCATION_TYPE_DEVICE);
  CHECK(same_value(LaunchAttributeId::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION));
  CHECK(same_value(LaunchAttributeId::programmatic_stream_serialization,
                   CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
  CHECK(same_value(TensorDataType::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
  CHECK(same_value(TensorDataType::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32));
  CHECK(same_value(TensorDataType::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16));
  CHECK(same_value(TensorInterleave::none, CU_TENSOR_MAP_INTERLEAVE_NONE));
  CHECK(same_value(TensorSwizzle::none, CU_TENSOR_MAP_SWIZZLE_NONE));
  CHECK(same_value(TensorSwizzle::bytes_128, CU_TENSOR_MAP_SWIZZLE_128B));
  CHECK(same_value(TensorL2Promotion::bytes_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B));
  CHECK(same_value(TensorFill::zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  CHECK(stream_non_blocking == CU_STREAM_NON_BLOCKING);
  CHECK(event_default == CU_EVENT_DEFAULT);
  CHECK(event_disable_timing == CU_EVENT_DISABLE_TIMING);

  CHECK(same_value(NvrtcResult::success, NVRTC_SUCCESS));
  CHECK(same_value(NvrtcResult::invalid_option, NVRTC_ERROR_INVALID_OPTION));
  CHECK(same_value(NvrtcResult::compilation, NVRTC_ERROR_COMPILATION));
  CHECK(same_value(NvrtcResult::builtin_operation_failure, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE));
  CHECK(same_value(NvrtcResult::name_expression_not_valid, NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID));
}

TEST_CASE("structs have the layouts of cuda.h") {
  CHECK(offsetof(LaunchConfig, grid_x) == offsetof(CUlaunchConfig, gridDimX));
  CHECK(offsetof(LaunchConfig, grid_y) == offsetof(CUlaunchConfig, gridDimY));
  CHECK(offsetof(LaunchConfig, grid_z) == offsetof(CUlaunchConfig, gridDimZ));
  CHECK(offsetof(LaunchConfig, block_x) == offsetof(CUlaunchConfig, blockDimX));
  CHECK(offsetof(LaunchConfig, block_y) == offsetof(CUlaunchConfig, blockDimY));
  CHECK(offsetof(LaunchConfig, block_z) == offsetof(CUlaunchConfig, blockDimZ));
  CHECK(offsetof(LaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
  CHECK(offsetof(LaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
  CHECK(offsetof(LaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
  CHECK(offsetof(LaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));
  CHECK(sizeof(LaunchConfig) == sizeof(CUlaunchConfig));
  CHECK(offsetof(LaunchAttribute, id) == offsetof(CUlaunchAttribute, id));
  CHECK(offsetof(LaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
  CHECK(sizeof(LaunchAttribute) == sizeof(CUlaunchAttribute));
  CHECK(sizeof(Uuid) == sizeof(CUuuid));
  CHECK(offsetof(PoolProperties, allocation) == offsetof(CUmemPoolProps, allocType));
  CHECK(offsetof(PoolProperties, share) == offsetof(CUmemPoolProps, handleTypes));
  CHECK(offsetof(PoolProperties, location) == offsetof(CUmemPoolProps, location));
  CHECK(offsetof(PoolProperties, security_attributes) == offsetof(CUmemPoolProps, win32SecurityAttributes));
  CHECK(sizeof(PoolProperties) == sizeof(CUmemPoolProps));
}

#else

TEST_CASE("the declarations of the CUDA APIs are compared with the toolkit's headers") {
  MESSAGE("skipped: no cuda.h and nvrtc.h were found when this build was configured");
}

#endif

TEST_CASE("every driver symbol is in the toolkit's stub library") {
#ifdef VOSTOK_CUDA_STUB
  std::string error;
  const SharedObject stub = SharedObject::open(VOSTOK_CUDA_STUB, &error);
  if (!stub) {
    MESSAGE("skipped: the stub library found at configure time is not there any more: ", error);
    return;
  }
  DriverApi api;
#define VOSTOK_FIND(symbol, ...) CHECK_MESSAGE(stub.find(api.symbol), api.symbol.name, " is not in the stub library");
  VOSTOK_DRIVER_FUNCTIONS(VOSTOK_FIND, VOSTOK_FIND)
#undef VOSTOK_FIND
  DriverFunction<> invented{"cuVostokInvented"};
  CHECK_FALSE(stub.find(invented));
#else
  MESSAGE("skipped: no stub libcuda.so was found when this build was configured");
#endif
}
