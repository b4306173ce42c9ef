// The controls of the fake driver: a shared library that exports the driver API over host memory, so that every path of
// the CUDA device runs on a machine without one. Tests find the controls in it by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/cuda/driver_api.hpp"

namespace vostok::fake {

/// What the last launch was given.
struct Launch {
  device::cuda::LaunchConfig config;
  std::array<device::cuda::LaunchAttribute, 2> attributes;  ///< the first config.attribute_count of them
  device::cuda::ContextHandle context;
  int first_argument;
};

/// What the last tensor map was asked to say.
struct TensorMapCall {
  const void* map;
  device::cuda::TensorDataType type;
  unsigned rank;
  const void* address;
  std::uint64_t sizes[3];
  std::uint64_t strides[2];
  std::uint32_t box[3];
  std::uint32_t steps[3];
  device::cuda::TensorInterleave interleave;
  device::cuda::TensorSwizzle swizzle;
  device::cuda::TensorL2Promotion promotion;
  device::cuda::TensorFill fill;
  device::cuda::ContextHandle context;
};

struct Controls {
  /// Everything back to one idle device; handles that are still alive are forgotten.
  void (*reset)();
  /// The calls of `name` fail with `code`, `times` times, after `after` that work.
  void (*fail)(const char* name, int after, int times, unsigned code);
  /// How often `name` was called since the reset.
  int (*calls)(const char* name);
  /// Every call since the reset, one a line, with the stream it names: "cuEventRecord own1".
  const char* (*log)();
  /// Handles alive: "memory", "stream", "event", "context", "code", "graph", "pool".
  int (*live)(const char* what);
  /// Settings: "devices", "capability_major", "capability_minor", "pools", "version", "uuid_first_byte".
  void (*set)(const char* setting, int value);
  /// A blocking stream of the user's own, made on first use.
  device::cuda::StreamHandle (*user_stream)(const char* name);
  /// Work on the stream does not end until it is released; events recorded meanwhile are not ready.
  void (*stall)(device::cuda::StreamHandle stream, bool stalled);
  /// Status that cuStreamIsCapturing tells. While a stream of the user's is captured, the legacy stream is barred.
  void (*capture)(device::cuda::StreamHandle stream, device::cuda::CaptureStatus status);
  /// Another thread captures in global mode: unsafe calls fail unless the calling thread is in relaxed mode.
  void (*global_capture)(bool active);
  /// A context of the user's own on `device`.
  device::cuda::ContextHandle (*make_context)(int device);
  device::cuda::ContextHandle (*current_context)();
  void (*set_current_context)(device::cuda::ContextHandle context);
  device::cuda::CaptureMode (*thread_mode)();
  Launch (*last_launch)();
  /// Bytes that the last pool was told to keep.
  std::uint64_t (*kept_by_pool)();
  TensorMapCall (*last_tensor_map)();
};

/// The one function of the library beside the driver's.
using GetControls = const Controls* (*)();

}  // namespace vostok::fake
