// A CUDA driver over host memory. Streams finish at once unless they are stalled, kernels do nothing but are recorded,
// and every call can be told to fail. FAKE_CUDA_OLD leaves out what drivers before CUDA 12 lack.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "unit/device/fake_cuda/fake_state.hpp"

using namespace vostok::fake;

namespace {

Result allocate(DevicePointer* pointer, std::size_t bytes) {
  if (bytes == 0 || pointer == nullptr) return Result::invalid_value;
  if (bytes > memory_limit) return Result::out_of_memory;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0, bytes);  // what kernels would have written, the same every time
  state().memory.insert(memory);
  ++state().live["memory"];
  *pointer = reinterpret_cast<DevicePointer>(memory);
  return Result::success;
}

Result release(DevicePointer pointer) {
  void* const memory = reinterpret_cast<void*>(pointer);
  if (state().memory.erase(memory) == 0) return Result::invalid_value;
  --state().live["memory"];
  std::free(memory);
  return Result::success;
}

/// An image reads "FAKE <symbol> <argument bytes>". No string stream: where libstdc++ is linked into each library,
/// streams of the second one that a process opens find no locale.
bool parse(const void* image, CUlib_st& code) {
  std::array<char, 256> symbol = {};
  unsigned long long argument_bytes = 0;
  if (std::sscanf(static_cast<const char*>(image), "FAKE %255s %llu", symbol.data(), &argument_bytes) != 2)
    return false;
  code.image = symbol.data();
  code.function.argument_bytes = argument_bytes;
  return true;
}

template <class Code>
Result load(Code** handle, const void* image, const JitOption* options, void** values, unsigned count) {
  Code code{};
  if (!parse(image, code)) {
    constexpr char log[] = "the fake knows no such image";
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == JitOption::error_log_buffer) std::memcpy(values[i], log, sizeof(log));
    }
    return Result::invalid_image;
  }
  *handle = make("code", code);
  return Result::success;
}

Uuid some_uuid() {
  Uuid uuid{};
  for (int i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<char>(i);
  uuid.bytes[0] = static_cast<char>(state().settings["uuid_first_byte"]);
  return uuid;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

Result cuInit(unsigned) {
  return run({"cuInit"}, [] { return Result::success; });
}
Result cuDriverGetVersion(int* version) {
  return run({"cuDriverGetVersion"}, [&] { return *version = state().settings["version"], Result::success; });
}
Result cuGetErrorName(Result code, const char** text) {
  *text = code == Result::out_of_memory   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == Result::invalid_image ? "CUDA_ERROR_INVALID_IMAGE"
                                          : nullptr;
  return *text == nullptr ? Result::invalid_value : Result::success;
}
Result cuGetErrorString(Result code, const char** text) {
  *text = code == Result::out_of_memory   ? "out of memory"
          : code == Result::invalid_image ? "device kernel image is invalid"
                                          : nullptr;
  return *text == nullptr ? Result::invalid_value : Result::success;
}

Result cuDeviceGetCount(int* count) {
  return run({"cuDeviceGetCount"}, [&] { return *count = state().settings["devices"], Result::success; });
}
Result cuDeviceGet(DeviceHandle* device, int ordinal) {
  return run({"cuDeviceGet"}, [&] { return *device = ordinal, Result::success; });
}
Result cuDeviceGetName(char* name, int bytes, DeviceHandle) {
  return run({"cuDeviceGetName"},
             [&] { return std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU"), Result::success; });
}
Result cuDeviceGetUuid(Uuid* uuid, DeviceHandle) {
  return run({"cuDeviceGetUuid"}, [&] { return *uuid = some_uuid(), Result::success; });
}
Result cuDeviceGetPCIBusId(char* text, int bytes, DeviceHandle) {
  return run({"cuDeviceGetPCIBusId"},
             [&] { return std::snprintf(text, static_cast<std::size_t>(bytes), "0000:01:00.0"), Result::success; });
}
Result cuDeviceTotalMem_v2(std::size_t* bytes, DeviceHandle) {
  return run({"cuDeviceTotalMem_v2"}, [&] { return *bytes = memory_limit, Result::success; });
}
Result cuDeviceGetAttribute(int* value, DeviceAttribute which, DeviceHandle) {
  return run({"cuDeviceGetAttribute"}, [&] {
    switch (which) {
      case DeviceAttribute::clock_khz: *value = 1'980'000; break;
      case DeviceAttribute::multiprocessors: *value = 132; break;
      case DeviceAttribute::memory_clock_khz: *value = 3'201'000; break;
      case DeviceAttribute::memory_bus_bits: *value = 6144; break;
      case DeviceAttribute::l2_bytes: *value = 60 << 20; break;
      case DeviceAttribute::threads_per_multiprocessor: *value = 2048; break;
      case DeviceAttribute::capability_major: *value = state().settings["capability_major"]; break;
      case DeviceAttribute::capability_minor: *value = state().settings["capability_minor"]; break;
      case DeviceAttribute::shared_bytes_per_multiprocessor: *value = 233'472; break;
      case DeviceAttribute::registers_per_multiprocessor: *value = 65'536; break;
      case DeviceAttribute::shared_bytes_per_block_opt_in: *value = 232'448; break;
      case DeviceAttribute::memory_pools_supported: *value = state().settings["pools"]; break;
    }
    return Result::success;
  });
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceHandle) {
  return run({"cuDevicePrimaryCtxRetain"},
             [&] { return ++state().live["context"], *context = &state().primary, Result::success; });
}
Result cuDevicePrimaryCtxRelease_v2(DeviceHandle) {
  return run({"cuDevicePrimaryCtxRelease_v2"}, [] { return drop("context"); });
}
Result cuCtxGetCurrent(ContextHandle* context) {
  return run({"cuCtxGetCurrent"}, [&] { return *context = current, Result::success; });
}
Result cuCtxSetCurrent(ContextHandle context) {
  return run({"cuCtxSetCurrent"}, [&] { return current = context, Result::success; });
}
Result cuCtxGetDevice(DeviceHandle* device) {
  return run({"cuCtxGetDevice", true}, [&] { return *device = current->device, Result::success; });
}
Result cuThreadExchangeStreamCaptureMode(CaptureMode* wanted) {
  return run({"cuThreadExchangeStreamCaptureMode"}, [&] { return std::swap(mode, *wanted), Result::success; });
}

Result cuStreamCreate(StreamHandle* stream, unsigned flags) {
  return run({"cuStreamCreate", true, true}, [&] {
    if (flags != stream_non_blocking) return Result::invalid_value;  // the library makes no other
    *stream = make("stream", CUstream_st{.name = "own" + std::to_string(++state().streams_made)});
    return Result::success;
  });
}
Result cuStreamDestroy_v2(StreamHandle) {
  return run({"cuStreamDestroy_v2", false, false}, [] { return drop("stream"); });
}
Result cuStreamSynchronize(StreamHandle stream) {
  return run({"cuStreamSynchronize", true, true, &stream_of(stream)}, [&] {
    stream_of(stream).stalled = false;  // the host has waited for the work to end
    return stream_of(stream).capture == CaptureStatus::none ? Result::success : Result::capture_unsupported;
  });
}
Result cuStreamWaitEvent(StreamHandle stream, EventHandle, unsigned) {
  return run({"cuStreamWaitEvent", true, false, &stream_of(stream)}, [] { return Result::success; });
}
Result cuStreamIsCapturing(StreamHandle stream, CaptureStatus* status) {
  return run({"cuStreamIsCapturing", true, false, &stream_of(stream)},
             [&] { return *status = stream_of(stream).capture, Result::success; });
}
Result cuStreamBeginCapture_v2(StreamHandle stream, CaptureMode wanted) {
  return run({"cuStreamBeginCapture_v2", true, false, &stream_of(stream)}, [&] {
    if (wanted == CaptureMode::global) return Result::invalid_value;  // would forbid calls of other threads
    stream->capture = CaptureStatus::active;
    return Result::success;
  });
}
Result cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  return run({"cuStreamEndCapture", true, false, &stream_of(stream)}, [&] {
    stream->capture = CaptureStatus::none;
    *graph = make<CUgraph_st>("graph");
    return Result::success;
  });
}

Result cuGraphDestroy(GraphHandle) {
  return run({"cuGraphDestroy"}, [] { return drop("graph"); });
}
Result cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle, unsigned long long) {
  return run({"cuGraphInstantiateWithFlags", true, true},
             [&] { return *exec = make<CUgraphExec_st>("graph"), Result::success; });
}
Result cuGraphExecDestroy(GraphExecHandle) {
  return run({"cuGraphExecDestroy"}, [] { return drop("graph"); });
}
Result cuGraphUpload(GraphExecHandle, StreamHandle stream) {
  return run({"cuGraphUpload", true, false, &stream_of(stream)}, [] { return Result::success; });
}
Result cuGraphLaunch(GraphExecHandle, StreamHandle stream) {
  return run({"cuGraphLaunch", true, false, &stream_of(stream)}, [] { return Result::success; });
}

Result cuEventCreate(EventHandle* event, unsigned) {
  return run({"cuEventCreate", true}, [&] { return *event = make<CUevent_st>("event"), Result::success; });
}
Result cuEventDestroy_v2(EventHandle) {
  return run({"cuEventDestroy_v2"}, [] { return drop("event"); });
}
Result cuEventRecord(EventHandle event, StreamHandle stream) {
  return run({"cuEventRecord", true, false, &stream_of(stream)},
             [&] { return event->pending_on = &stream_of(stream), Result::success; });
}
Result cuEventQuery(EventHandle event) {
  return run({"cuEventQuery", true, true},
             [&] { return event->pending_on->stalled ? Result::not_ready : Result::success; });
}
Result cuEventSynchronize(EventHandle event) {
  return run({"cuEventSynchronize", true, true}, [&] { return event->pending_on->stalled = false, Result::success; });
}
Result cuEventElapsedTime(float* milliseconds, EventHandle, EventHandle) {
  return run({"cuEventElapsedTime", true}, [&] { return *milliseconds = 0.25F, Result::success; });
}

Result cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  return run({"cuMemAlloc_v2", true, true}, [&] { return allocate(pointer, bytes); });
}
Result cuMemFree_v2(DevicePointer pointer) {
  return run({"cuMemFree_v2", true, true}, [&] { return release(pointer); });
}
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, StreamHandle stream) {
  return run({"cuMemcpyHtoDAsync_v2", true, false, &stream_of(stream)},
             [&] { return std::memcpy(reinterpret_cast<void*>(to), from, bytes), Result::success; });
}
Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  return run({"cuMemcpyDtoHAsync_v2", true, false, &stream_of(stream)},
             [&] { return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), Result::success; });
}
Result cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t bytes, StreamHandle stream) {
  return run({"cuMemsetD8Async", true, false, &stream_of(stream)},
             [&] { return std::memset(reinterpret_cast<void*>(to), value, bytes), Result::success; });
}
Result cuPointerGetAttribute(void* data, PointerAttribute, DevicePointer pointer) {
  return run({"cuPointerGetAttribute", true}, [&] {
    if (!state().memory.contains(reinterpret_cast<void*>(pointer))) return Result::invalid_value;
    return *static_cast<MemoryType*>(data) = MemoryType::device, Result::success;
  });
}

Result cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned count, JitOption* options, void** values) {
  return run({"cuModuleLoadDataEx", true, true}, [&] { return load(module, image, options, values, count); });
}
Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  return run({"cuModuleGetFunction", true, true}, [&] {
    return *function = &module->function, module->image == name ? Result::success : Result::not_found;
  });
}
Result cuModuleUnload(ModuleHandle) {
  return run({"cuModuleUnload", true, true}, [] { return drop("code"); });
}
Result cuFuncSetAttribute(FunctionHandle, FunctionAttribute, int value) {
  return run({"cuFuncSetAttribute", true}, [&] { return value > 232'448 ? Result::invalid_value : Result::success; });
}
Result cuLaunchKernelEx(const LaunchConfig* config, FunctionHandle, void** parameters, void**) {
  return run({"cuLaunchKernelEx", true, false, &stream_of(config->stream)}, [&] {
    vostok::fake::Launch& launch = state().last_launch;
    launch = {.config = *config, .attributes = {}, .context = current, .first_argument = 0};
    std::copy_n(config->attributes, config->attribute_count, launch.attributes.begin());
    std::memcpy(&launch.first_argument, parameters[0], sizeof(int));
    return Result::success;
  });
}
Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, FunctionHandle, int threads, std::size_t) {
  return run({"cuOccupancyMaxActiveBlocksPerMultiprocessor", true, true},
             [&] { return *blocks = 2048 / threads, Result::success; });
}

#ifndef FAKE_CUDA_OLD
Result cuDeviceGetUuid_v2(Uuid* uuid, DeviceHandle) {
  return run({"cuDeviceGetUuid_v2"}, [&] { return *uuid = some_uuid(), Result::success; });
}
Result cuMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  return run({"cuMemPoolCreate", true, true}, [&] {
    const bool known = properties->allocation == AllocationType::pinned && properties->share == ShareHandleType::none &&
                       properties->location.type == LocationType::device &&
                       properties->location.id == current->device && properties->security_attributes == nullptr &&
                       std::ranges::count(properties->defaults, 0) == sizeof(properties->defaults);
    if (!known) return Result::invalid_value;
    return *pool = make<CUmemPoolHandle_st>("pool"), Result::success;
  });
}
Result cuMemPoolSetAttribute(PoolHandle pool, PoolAttribute attribute, void* value) {
  return run({"cuMemPoolSetAttribute", true}, [&] {
    if (pool == nullptr || attribute != PoolAttribute::release_threshold) return Result::invalid_value;
    std::memcpy(&state().kept_by_pool, value, sizeof(std::uint64_t));
    return Result::success;
  });
}
Result cuMemPoolDestroy(PoolHandle) {
  return run({"cuMemPoolDestroy", true, true}, [] { return drop("pool"); });
}
Result cuMemAllocFromPoolAsync(DevicePointer* pointer, std::size_t bytes, PoolHandle pool, StreamHandle stream) {
  return run({"cuMemAllocFromPoolAsync", true, false, &stream_of(stream)},
             [&] { return pool == nullptr ? Result::invalid_value : allocate(pointer, bytes); });
}
Result cuMemFreeAsync(DevicePointer pointer, StreamHandle stream) {
  return run({"cuMemFreeAsync", true, false, &stream_of(stream)}, [&] { return release(pointer); });
}
Result cuLibraryLoadData(LibraryHandle* library, const void* image, JitOption* options, void** values, unsigned count,
                         LibraryOption*, void**, unsigned) {
  return run({"cuLibraryLoadData", false, true}, [&] { return load(library, image, options, values, count); });
}
Result cuLibraryGetKernel(KernelHandle* kernel, LibraryHandle library, const char* name) {
  return run({"cuLibraryGetKernel"}, [&] {
    *kernel = &library->function;
    return library->image == name ? Result::success : Result::not_found;
  });
}
Result cuLibraryUnload(LibraryHandle) {
  return run({"cuLibraryUnload", false, true}, [] { return drop("code"); });
}
Result cuKernelGetFunction(FunctionHandle* function, KernelHandle kernel) {
  return run({"cuKernelGetFunction", true, true}, [&] { return *function = kernel, Result::success; });
}
Result cuFuncLoad(FunctionHandle) {
  return run({"cuFuncLoad", true, true}, [] { return Result::success; });
}
Result cuFuncGetParamInfo(FunctionHandle function, std::size_t, std::size_t* offset, std::size_t* bytes) {
  return run({"cuFuncGetParamInfo", true},
             [&] { return *offset = 0, *bytes = function->argument_bytes, Result::success; });
}
/// Refuses what cuda.h says that it refuses. The map it makes is all of one byte.
Result cuTensorMapEncodeTiled(EncodedTensorMap* map, TensorDataType type, unsigned rank, void* address,
                              const std::uint64_t* sizes, const std::uint64_t* strides, const std::uint32_t* box,
                              const std::uint32_t* steps, TensorInterleave interleave, TensorSwizzle swizzle,
                              TensorL2Promotion promotion, TensorFill fill) {
  return run({"cuTensorMapEncodeTiled", true}, [&] {
    if (rank != 3 || reinterpret_cast<std::uintptr_t>(map) % 64 != 0 ||
        reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
      return Result::invalid_value;
    for (int i = 0; i < 3; ++i)
      if (sizes[i] == 0 || sizes[i] > std::uint64_t{1} << 32 || box[i] == 0 || box[i] > 256)
        return Result::invalid_value;
    for (int i = 0; i < 2; ++i)
      if (strides[i] % 16 != 0 || strides[i] >= std::uint64_t{1} << 40) return Result::invalid_value;
    if (box[0] * 2 > 128) return Result::invalid_value;  // the lines of the swizzle
    state().last_tensor_map = {.map = map,
                               .type = type,
                               .rank = rank,
                               .address = address,
                               .sizes = {sizes[0], sizes[1], sizes[2]},
                               .strides = {strides[0], strides[1]},
                               .box = {box[0], box[1], box[2]},
                               .steps = {steps[0], steps[1], steps[2]},
                               .interleave = interleave,
                               .swizzle = swizzle,
                               .promotion = promotion,
                               .fill = fill,
                               .context = current};
    std::memset(map, 0x3c, sizeof(*map));
    return Result::success;
  });
}
#endif

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
