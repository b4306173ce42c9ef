// Checks of the tools before they queue anything, and the handles they return.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include <vostok/tools.hpp>

#include "base/text.hpp"
#include "ops/topology/queue.hpp"
#include "plan/memory_region.hpp"
#include "plan/session.hpp"
#include "plan/topology_state.hpp"

namespace vostok::plan {

inline void require_shape(const char* what, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows < 0 || rows >= most)
    fail(ErrorCode::invalid_argument, "cannot {}: rows = {} is not in [0, 2^31 - 1)", what, rows);
  if (cols < 0 || cols > most)
    fail(ErrorCode::invalid_argument, "cannot {}: cols = {} is not in [0, 2^31)", what, cols);
}

/// The leading dimension of a matrix, with the default filled in; checks the matrix.
inline std::int64_t checked_leading(const char* what, const void* data, std::int64_t rows, std::int64_t cols,
                                    std::int64_t leading, Dtype element) {
  if (name(element) == nullptr)
    fail(ErrorCode::invalid_argument, "cannot {}: element = {} is no enumerator", what, static_cast<int>(element));
  if (data == nullptr && rows > 0 && cols > 0) fail(ErrorCode::invalid_argument, "cannot {}: dense.data is null", what);
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size_of(element)) != 0)
    fail(ErrorCode::misaligned_pointer, "cannot {}: dense.data = {} is not aligned to its {}-byte elements", what, data,
         size_of(element));
  if (leading != 0 && leading < cols)
    fail(ErrorCode::invalid_argument, "cannot {}: dense.leading = {} is smaller than {} columns (0 means packed)", what,
         leading, cols);
  constexpr std::int64_t most_bytes = std::int64_t{1} << 57;  // of an address space
  if (leading > most_bytes / size_of(element) / std::max<std::int64_t>(rows, 1))
    fail(ErrorCode::invalid_argument, "cannot {}: dense.leading = {} and {} rows are more than any memory holds", what,
         leading, rows);
  return leading != 0 ? leading : cols;
}

/// Requires that the output shares no element with the input.
inline void require_apart(const char* what, const void* output, const Region& written, const void* input,
                          const Region& read) {
  if (output == nullptr || input == nullptr) return;
  const auto distance =
      static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(input) - reinterpret_cast<std::uintptr_t>(output));
  if (share_bytes(written, read, distance))
    fail(ErrorCode::invalid_argument, "cannot {}: dense.data = {} shares elements with values = {}", what, output,
         input);
}

inline const std::shared_ptr<TopologyState>& checked_state(const char* what, const Topology& topology, Stream stream) {
  if (!topology) fail(ErrorCode::invalid_argument, "cannot {}: the topology handle is empty", what);
  topology.state()->session()->require_no_capture(stream, what);
  return topology.state();
}

/// Fails on a device that only compiles, where no kernel writes the result. Errors: no_device.
inline void require_results(const char* what, const device::Device& device) {
  if (device.only_compiles())
    fail(ErrorCode::no_device, "cannot {} on {}: the context was opened to compile only", what, device.info().name);
}

/// The library's own stream, ordered after the work queued so far on `stream`.
inline ops::Queue queue_behind(Session& session, Stream stream) {
  session.device().wait_for(stream);
  return {session.device(), session.step_kernels(), session.device().own_stream()};
}

/// The given stream itself. If that is the legacy stream, the library's own waits for it too, so that later library
/// work sees what is written. Nothing is queued while the driver bars that stream (capture_active).
inline ops::Queue queue_on(Session& session, Stream stream) {
  if (stream == nullptr || stream == legacy_stream) session.device().wait_for(legacy_stream);
  return {session.device(), session.step_kernels(), stream};
}

/// A handle to the first `bytes` of memory whose last use has completed. It keeps the session alive, which owns the
/// device.
inline DeviceArray array_of(const std::shared_ptr<Session>& session, ops::QueuedMemory memory, std::int64_t bytes) {
  if (!memory) return {};
  return {std::shared_ptr<void>(memory.give_away(),
                                [session](void* pointer) { session->device().release_behind(pointer, {}); }),
          bytes};
}
inline DeviceArray array_of(const std::shared_ptr<Session>& session, ops::QueuedMemory memory) {
  const std::int64_t bytes = memory.bytes();
  return array_of(session, std::move(memory), bytes);
}

}  // namespace vostok::plan
