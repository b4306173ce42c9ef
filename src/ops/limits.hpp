// Limits of machines: of every GPU that may run a kernel, and what stands in where a query names no device.
#pragma once

#include <algorithm>
#include <cstdint>

#include <abi/warpgroup_registers.h>

#include "base/checked.hpp"
#include "device/device.hpp"

namespace vostok::ops {

inline constexpr int most_thread_registers = 255;
inline constexpr int reserved_shared_bytes = 1024;  ///< of each block, by the driver

/// What the blocks of an SM share, besides its registers.
struct Multiprocessor {
  int shared_bytes = 0;
  int threads = 0;

  /// Blocks that run at a time.
  int resident_blocks(int block_threads, int thread_registers, int block_shared_bytes) const {
    constexpr int register_step = 8;
    const int allocated = static_cast<int>(round_up(thread_registers, register_step));
    return std::min({shared_bytes / (block_shared_bytes + reserved_shared_bytes), threads / block_threads,
                     multiprocessor_registers() / (block_threads * allocated)});
  }
};

// The least of an architecture and of all later ones.
inline constexpr Multiprocessor least_multiprocessor{.shared_bytes = 64 * 1024, .threads = 1024};
inline constexpr Multiprocessor least_multiprocessor_of_sm_80{.shared_bytes = 100 * 1024, .threads = 1536};
inline constexpr Multiprocessor multiprocessor_of_sm_90{.shared_bytes = 228 * 1024, .threads = 2048};

/// The device's; `otherwise` if there is none.
inline Multiprocessor multiprocessor_of(const device::Device* device, const Multiprocessor& otherwise) {
  if (device == nullptr) return otherwise;
  return {.shared_bytes = device->shared_bytes_per_multiprocessor(), .threads = device->threads_per_multiprocessor()};
}

// Shared memory that a block may have on every GPU, and from an architecture on.
inline constexpr int block_shared_bytes_of_any = 48 * 1024;
inline constexpr int block_shared_bytes_of_sm_80 = 99 * 1024;
inline constexpr int block_shared_bytes_of_sm_90 = multiprocessor_of_sm_90.shared_bytes - reserved_shared_bytes;

/// The most shared memory of a block; `otherwise` without a device.
inline int most_shared_bytes(const device::Device* device, int otherwise) {
  return device != nullptr ? device->max_shared_bytes() : otherwise;
}

/// Registers of a thread that min_blocks allows.
inline int registers_of_thread(int block_threads, int min_blocks) {
  return std::min(most_thread_registers, multiprocessor_registers() / (block_threads * min_blocks));
}

inline constexpr int usual_multiprocessors = 132;  ///< of an H200

// What L2 keeps of one call for the next: fitted on an H200. A softmax was measured by itself, with no other operand.
inline constexpr double cached_bytes = 4e7;
inline constexpr double cached_softmax_bytes = 5e7;

inline constexpr std::int64_t usual_l2_bytes = 32 << 20;
inline constexpr std::int64_t usual_l2_bytes_of_sm_90 = 50 << 20;

}  // namespace vostok::ops
