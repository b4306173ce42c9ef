// The tools that make, fill and read device memory as it is.
#include "plan/tools.hpp"

#include "base/boundary.hpp"
#include "ops/topology/csr.hpp"
#include "plan/tool_checks.hpp"

namespace vostok::plan {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 57;  // of an address space

void require_bytes(const char* what, std::int64_t bytes) {
  if (bytes < 0) fail(ErrorCode::invalid_argument, "cannot {}: bytes = {} is negative", what, bytes);
  if (bytes > most_bytes)
    fail(ErrorCode::out_of_memory, "cannot {}: {} bytes are more than any memory holds", what, bytes);
}

/// Checks the operands of a copy. Pointers may be null if `bytes` is 0.
void require_copyable(const Session& session, const char* what, const void* device, const void* host,
                      std::int64_t bytes, Stream stream) {
  session.require_no_capture(stream, what);
  require_results(what, session.device());
  require_bytes(what, bytes);
  if (bytes > 0 && device == nullptr) fail(ErrorCode::invalid_argument, "cannot {}: device is null", what);
  if (bytes > 0 && host == nullptr) fail(ErrorCode::invalid_argument, "cannot {}: host is null", what);
}

}  // namespace

DeviceArray make_array(const std::shared_ptr<Session>& session, std::int64_t bytes) {
  constexpr const char* what = "make array";
  session->device().require_here(what);
  require_bytes(what, bytes);
  const ops::Queue queue(session->device(), session->step_kernels(), session->device().own_stream());
  // The emulator's memory ends at a guard page; its start is aligned to 256 bytes only if the size is a multiple of
  // 256.
  return array_of(session, {queue, ops::QueuedMemory::bytes_of<char>(bytes)}, bytes);
}

void copy_to_device(Session& session, void* device, const void* host, std::int64_t bytes, Stream stream) {
  require_copyable(session, "copy to device memory", device, host, bytes, stream);
  if (bytes > 0) session.device().copy_to_device(device, host, bytes, stream);
}

void copy_to_host(Session& session, void* host, const void* device, std::int64_t bytes, Stream stream) {
  require_copyable(session, "copy to host memory", device, host, bytes, stream);
  if (bytes > 0) session.device().copy_to_host(host, device, bytes, stream);
}

}  // namespace vostok::plan

namespace vostok {

namespace {

void write_csr(const Topology& topology, void* row_offsets, void* column_indices, IntegerType type, Stream stream) {
  constexpr const char* what = "read topology";
  TopologyState& state = *plan::checked_state(what, topology, stream);
  const TopologyStatistics& statistics = topology.statistics();
  if (row_offsets == nullptr) fail(ErrorCode::invalid_argument, "cannot {}: row_offsets is null", what);
  if (column_indices == nullptr && statistics.nonzeros > 0)
    fail(ErrorCode::invalid_argument, "cannot {}: column_indices is null", what);
  const ops::CsrArrays arrays = state.arrays();
  if (arrays.wide_offsets && type == IntegerType::i32)
    fail(ErrorCode::invalid_argument, "cannot {}: int32 does not hold {} nonzeros; give int64", what,
         statistics.nonzeros);
  const ops::Queue queue = plan::queue_on(*state.session(), stream);
  state.note_use(stream);
  ops::gather(queue, arrays.row_offsets, ops::offset_type(arrays.wide_offsets), nullptr, statistics.rows + 1,
              row_offsets, type);
  ops::gather(queue, arrays.column_indices, ops::integer_type(arrays.index), nullptr, statistics.nonzeros,
              column_indices, type);
}

}  // namespace

void read_csr(const Topology& topology, std::int32_t* row_offsets, std::int32_t* column_indices, Stream stream) {
  at_boundary("read", "topology", [&] { write_csr(topology, row_offsets, column_indices, IntegerType::i32, stream); });
}

void read_csr(const Topology& topology, std::int64_t* row_offsets, std::int64_t* column_indices, Stream stream) {
  at_boundary("read", "topology", [&] { write_csr(topology, row_offsets, column_indices, IntegerType::i64, stream); });
}

}  // namespace vostok
