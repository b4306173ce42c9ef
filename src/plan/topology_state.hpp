// A topology on a device: its structure, its transpose's, and the forms derived from both on demand.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <vostok/topology.hpp>

#include "ops/family.hpp"
#include "plan/session.hpp"
#include "plan/topology_forms.hpp"
#include "sparse/coded_structure.hpp"
#include "sparse/csr.hpp"

namespace vostok {

namespace plan {

/// The same for every matrix that has this structure.
std::string digest_of_structure(const sparse::Csr& csr);

}  // namespace plan

struct TopologyState {
 public:
  /// Copies, validates and measures: arrays in host memory on the host, without a kernel; arrays in device memory on the device,
  /// with one small read-back (two where `csr.nonzeros` is not given). Errors: invalid_topology, unsupported, out_of_memory.
  TopologyState(std::shared_ptr<plan::Session> session, const CsrView& csr, Stream stream);
  ~TopologyState();
  TopologyState(const TopologyState&) = delete;
  TopologyState& operator=(const TopologyState&) = delete;

  const TopologyStatistics& statistics() const { return own_.statistics; }
  /// Of the matrix, or of its transpose: these are known already where the arrays came from device memory, else measured now.
  /// Errors: unsupported (transposing 2^31 nonzeros and more).
  const TopologyStatistics& statistics(bool transposed);
  const std::shared_ptr<plan::Session>& session() const { return session_; }
  std::int64_t device_bytes() const;

  /// Pointers for kernels. Forms are built on their first request, under a lock, and are complete on return. Errors: unsupported.
  ops::TopologyPointers pointers(const ops::TopologyNeeds& needs);

  /// Whether they need nothing that was released.
  bool serves(const ops::TopologyNeeds& needs) const;

  /// The structure itself, in the types that it is kept in. Errors: invalid_argument where it was released.
  ops::CsrArrays arrays() const;

  /// Keeps what release_source and release_packing give back of these forms, as long as it lives. Errors: invalid_argument where that was released.
  std::shared_ptr<const void> hold(const ops::TopologyNeeds& needs) const;
  /// Gives all but packed forms back (Topology::release_source).
  void release_source();
  /// And of those what only packing reads (Topology::release_packing).
  void release_packing();

  /// A digest of the structure, the same for every topology that has it. Waits for the device the first time.
  std::string structure_digest();
  /// The structure as files carry it. Waits for the device the first time; stays on the host from then on.
  const sparse::CodedStructure& coded_structure();
  /// For a topology made of such a structure: both are known.
  void note_structure(std::string digest, sparse::CodedStructure coded);

  /// The structure on the host, read back from the device: for references, not for planning.
  sparse::Csr host_copy() const;

  /// Lock-free: `execute` says on which stream it queued work that reads this topology.
  void note_use(Stream stream) noexcept { used_.note(stream); }

  /// On a device that only compiles, where nothing may compile: what the steps lack that take such a structure from device memory.
  const std::vector<std::string>& missing_steps() const { return missing_steps_; }

  /// Where the library queues work on this topology's device: its own stream.
  ops::Queue queue() const;

 private:
  void build_on_host(const CsrView& csr);
  void build_on_device(const CsrView& csr, Stream stream);
  void copy_from_device(const CsrView& csr, std::int64_t nonzeros);
  void find_duplicates();
  void share_statistics();
  void rehearse(const std::vector<std::int32_t>& columns);
  void require_narrow() const;
  void require_transposed_offsets();
  void require_transpose();
  void require_source() const;
  void require_packing() const;
  void give_source_back();
  void know_structure();
  void settle();

  std::shared_ptr<plan::Session> session_;
  mutable std::mutex mutex_;  ///< guards what is derived: of own_ all but its two arrays and statistics, of transposed_ everything
  plan::TopologyForms own_;
  plan::TopologyForms transposed_;
  bool unsettled_ = false;  ///< forms are queued that nobody has waited for
  bool transpose_measured_ = false;
  std::optional<TopologyStatistics> known_transpose_;                     ///< from the host, where no kernel can measure it
  std::vector<std::string> missing_steps_;                                ///< why kernels of the rehearsal are not there
  std::string digest_;                                                    ///< empty: not yet known
  sparse::CodedStructure coded_;                                          ///< without a coding: not yet known
  std::shared_ptr<const char> source_ = std::make_shared<const char>();   ///< whoever reads the CSR arrays has a copy
  std::atomic<bool> released_ = false;                                    ///< the CSR arrays are gone
  std::shared_ptr<const char> packing_ = std::make_shared<const char>();  ///< whoever reads what packing alone reads has a copy
  std::atomic<bool> packing_released_ = false;
  plan::StreamSet used_;
};

}  // namespace vostok
