// A topology on a device: its CSR arrays, statistics, and the forms derived from them on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <vostok/topology.hpp>

#include "ops/family.hpp"
#include "plan/session.hpp"
#include "sparse/csr.hpp"

namespace vostok {

struct TopologyState {
 public:
  /// Copies and validates. Errors: invalid_topology, unsupported (2^31 nonzeros and more), out_of_memory.
  TopologyState(std::shared_ptr<plan::Session> session, const CsrView& csr, Stream stream);
  ~TopologyState();
  TopologyState(const TopologyState&) = delete;
  TopologyState& operator=(const TopologyState&) = delete;

  /// Of the matrix, or of its transpose.
  const TopologyStatistics& statistics(bool transposed = false) const;
  const std::shared_ptr<plan::Session>& session() const { return session_; }
  std::int64_t device_bytes() const;

  /// Pointers for kernels. The row order is built on its first request, under a lock, and published complete.
  ops::TopologyPointers pointers(const ops::TopologyNeeds& needs);

  /// The structure on the host, read back from the device: for references, not for planning.
  sparse::Csr host_copy() const;

  /// Lock-free: `execute` says on which stream it queued work that reads this topology.
  void note_use(Stream stream) noexcept { used_.note(stream); }

 private:
  std::shared_ptr<plan::Session> session_;
  TopologyStatistics statistics_;
  std::vector<std::int64_t> row_offsets_;  ///< host copy, for derived forms
  device::Buffer device_offsets_;
  device::Buffer device_columns_;
  mutable std::mutex mutex_;  ///< guards device_order_
  device::Buffer device_order_;
  plan::StreamSet used_;
};

}  // namespace vostok
