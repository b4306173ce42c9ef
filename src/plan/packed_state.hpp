// What PackedValues points at: values in device memory, in one format, for one topology.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <vostok/packed.hpp>
#include <vostok/topology.hpp>

#include "device/device.hpp"
#include "ops/topology/packed_format.hpp"
#include "plan/session.hpp"

namespace vostok {

namespace plan {

/// What decides how packed values lie in memory, and which plans accept them.
struct PackedKind {
  const ops::PackedFormat* packing = nullptr;  ///< null: values in CSR order of A
  bool transposed = false;                     ///< packed values of A^T
  Dtype element = Dtype::f32;                  ///< of CSR values; f32 of packed ones
  std::int64_t sets = 1;                       ///< sets of values: one for each product of a batch, or one for all

  ops::TopologyNeeds needs() const;          ///< the topology's packed form; only for a packed kind,
  ops::TopologyNeeds packing_needs() const;  ///< plus what packing reads

  std::string format() const;  ///< name of one set's format, as users see it
  /// The kind of one set with this name; nothing if the name is unknown.
  static std::optional<PackedKind> parse(std::string_view format);
  friend bool operator==(const PackedKind&, const PackedKind&) = default;
};

}  // namespace plan

struct PackedState {
  /// Allocates `bytes`, which may be 0.
  PackedState(Topology of, const plan::PackedKind& as, std::int64_t bytes);
  /// In the caller's memory, which require_memory has accepted.
  PackedState(Topology of, const plan::PackedKind& as, std::int64_t bytes, const PackedMemory& memory);
  ~PackedState();
  PackedState(const PackedState&) = delete;
  PackedState& operator=(const PackedState&) = delete;

  /// Lock-free: `execute` says on which stream it queued work that reads them.
  void note_use(Stream stream) const noexcept { used_.note(stream); }
  void* memory() const { return data_; }
  std::int64_t bytes() const { return bytes_; }

  const std::shared_ptr<plan::Session> session;
  const Topology topology;  ///< kernels read its part of the format
  const plan::PackedKind kind;

 private:
  device::Buffer memory_;  ///< empty where it is the caller's
  std::shared_ptr<const void> owner_;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  mutable plan::StreamSet used_;
};

}  // namespace vostok
