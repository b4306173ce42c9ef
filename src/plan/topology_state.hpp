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

/// Equal for all matrices with this structure.
std::string digest_of_structure(const sparse::Csr& csr);

}  // namespace plan

struct TopologyState {
 public:
  /// Copies, validates and measures: arrays in host memory on the host, without a kernel; arrays in device memory on
  /// the device, with one small read-back (two where `csr.nonzeros` is not given). Errors: invalid_topology,
  /// unsupported, out_of_memory.
  TopologyState(std::shared_ptr<plan::Session> session, const CsrView& csr, Stream stream);
  ~TopologyState();
  TopologyState(const TopologyState&) = delete;
  TopologyState& operator=(const TopologyState&) = delete;

  const TopologyStatistics& statistics() const { return own_.statistics; }
  /// Statistics of the matrix, or of its transpose. The transpose's are known already if the arrays came from device
  /// memory, else measured now. Errors: unsupported (transposing 2^31 nonzeros and more).
  const TopologyStatistics& statistics(bool transposed);
  const std::shared_ptr<plan::Session>& session() const { return session_; }
  std::int64_t device_bytes() const;

  /// Pointers for kernels. Forms are built on their first request, under a lock, and are complete on return. Errors:
  /// unsupported.
  ops::TopologyPointers pointers(const ops::TopologyNeeds& needs);

  /// Whether `needs` can be met without anything that was released.
  bool serves(const ops::TopologyNeeds& needs) const;

  /// The structure itself, in the types that it is kept in. Errors: invalid_argument where it was released.
  ops::CsrArrays arrays() const;

  /// Blocks release_source and release_packing from freeing what these forms need, as long as the result lives. Errors:
  /// invalid_argument if that was released.
  std::shared_ptr<const void> hold(const ops::TopologyNeeds& needs) const;
  /// Releases everything except packed forms (Topology::release_source).
  void release_source();
  /// Also releases what only packing reads (Topology::release_packing).
  void release_packing();

  /// A digest of the structure, equal for every topology that has it. Waits for the device the first time.
  std::string structure_digest();
  /// The structure as files carry it. Waits for the device the first time; stays on the host from then on.
  const sparse::CodedStructure& coded_structure();
  /// For a topology made from a saved structure, whose digest and code are known.
  void note_structure(std::string digest, sparse::CodedStructure coded);

  /// The whole structure copied back from the device; for references, digests and copies, not for the hot path.
  sparse::Csr host_copy() const;

  /// Lock-free: `execute` says on which stream it queued work that reads this topology.
  void note_use(Stream stream) noexcept { used_.note(stream); }

  /// On a device that only compiles, if compiling is forbidden: errors for the missing kernels that would take such a
  /// structure from device memory.
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
  mutable std::mutex
      mutex_;  ///< guards what is derived: of own_ all except its two arrays and statistics, of transposed_ everything
  plan::TopologyForms own_;
  plan::TopologyForms transposed_;
  bool unsettled_ = false;  ///< forms are queued that nobody has waited for
  bool transpose_measured_ = false;
  std::optional<TopologyStatistics> known_transpose_;  ///< from the host, if no kernel can measure it
  std::vector<std::string> missing_steps_;             ///< which kernels of the rehearsal are missing
  std::string digest_;                                 ///< empty: not yet known
  sparse::CodedStructure coded_;                       ///< without a coding: not yet known
  std::shared_ptr<const char> source_ =
      std::make_shared<const char>();   ///< copied by whoever reads the CSR arrays: its use count says how many do
  std::atomic<bool> released_ = false;  ///< the CSR arrays are gone
  std::shared_ptr<const char> packing_ =
      std::make_shared<const char>();  ///< copied by whoever reads what only packing needs
  std::atomic<bool> packing_released_ = false;
  plan::StreamSet used_;
};

}  // namespace vostok
