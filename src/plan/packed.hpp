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

/// Refuses memory in which packed values of so many bytes cannot lie; `what` they should: "adopt packed values". Errors: invalid_argument,
/// misaligned_pointer.
void require_memory(const device::Device& device, const PackedMemory& memory, std::int64_t bytes, const char* what);

/// Values as a user has them, in device memory.
struct PackSource {
  const void* values = nullptr;
  Dtype element = Dtype::f32;
  std::int64_t stride = 0;  ///< elements between two sets
};

/// Queues the packing of values into memory that has room for them. Errors: no_compiler, missing_kernel.
void queue_packing(const PackedState& packed, const PackSource& source, Stream stream);

/// Reads behind the work queued so far on `stream`, on the library's own stream; complete on return. `memory`: of the caller, to pack into. Bytes
/// that packing does not write are 0: the same values are the same bytes. Errors: out_of_memory, no_compiler, missing_kernel, as
/// require_memory.
PackedValues pack(const Topology& topology, const PackedKind& kind, const PackSource& source, Stream stream, const PackedMemory* memory = nullptr);

/// What pack() runs.
struct PackingKernel {
  codegen::KernelRequest request;
  std::int64_t shared_bytes = 0;
};
PackingKernel packing_kernel(const PackedKind& kind, Dtype element);

/// Loads what pack() runs, so that it need not compile; where nothing may be compiled and nothing is stored, pack() will say so.
void prepare_packing(Session& session, const PackedKind& kind, Dtype element);

/// Nothing was written yet. `memory`: of the caller, to lie in, with whatever is there.
PackedValues empty_packed(const Topology& topology, const PackedKind& kind, const PackedMemory* memory = nullptr);

}  // namespace vostok::plan
