// Values packed once: how large they are, how they are made, and the handle.
#pragma once

#include <cstdint>
#include <string>

#include <vostok/packed.hpp>

#include "codegen/source.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/packed_state.hpp"

namespace vostok::plan {

/// What a config that answers `format` to Family::packed_format reads.
PackedKind packed_kind(const ops::SpmmQuery& query, const std::string& format);

/// The topology's part of packed values. Makes it where it is missing. Errors: unsupported.
ops::TopologyPointers packed_form(const Topology& topology, const PackedKind& kind);

/// Bytes of device memory. Makes the topology's part where it is missing. Errors: unsupported.
std::int64_t packed_bytes(const Topology& topology, const PackedKind& kind);

/// Values as a user has them, in device memory.
struct PackSource {
  const void* values = nullptr;
  Dtype element = Dtype::f32;
  std::int64_t stride = 0;  ///< elements between two sets
};

/// Queues the packing of values into memory that has room for them. Errors: no_compiler, missing_kernel.
void queue_packing(const PackedState& packed, const PackSource& source, Stream stream);

/// Reads behind the work queued so far on `stream`, on the library's own stream; complete on return. Errors: out_of_memory, no_compiler,
/// missing_kernel.
PackedValues pack(const Topology& topology, const PackedKind& kind, const PackSource& source, Stream stream);

/// What pack() runs.
struct PackingKernel {
  codegen::KernelRequest request;
  std::int64_t shared_bytes = 0;
};
PackingKernel packing_kernel(const PackedKind& kind, Dtype element);

/// Loads what pack() runs, so that it need not compile; where nothing may be compiled and nothing is stored, pack() will say so.
void prepare_packing(Session& session, const PackedKind& kind, Dtype element);

/// Nothing was written yet.
PackedValues empty_packed(const Topology& topology, const PackedKind& kind);

}  // namespace vostok::plan
