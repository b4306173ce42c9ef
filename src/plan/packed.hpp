// Values packed once: how large they are, how they are made, and the handle.
#pragma once

#include <cstdint>
#include <string>

#include <vostok/packed.hpp>

#include "codegen/source.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/packed_state.hpp"

namespace vostok::plan {

/// The packed kind that a config reads, given its answer to Family::packed_format.
PackedKind packed_kind(const ops::SpmmQuery& query, const std::string& format);

/// The topology's packed form; derives it if it is missing. Errors: unsupported.
ops::TopologyPointers packed_form(const Topology& topology, const PackedKind& kind);

/// Bytes of device memory. Derives the topology's packed form if it is missing. Errors: unsupported.
std::int64_t packed_bytes(const Topology& topology, const PackedKind& kind);

/// Refuses memory that cannot hold packed values of this size. `what`: the caller's purpose, "adopt packed values".
/// Errors: invalid_argument, misaligned_pointer.
void require_memory(const device::Device& device, const PackedMemory& memory, std::int64_t bytes, const char* what);

/// Values as a user has them, in device memory.
struct PackSource {
  const void* values = nullptr;
  Dtype element = Dtype::f32;
  std::int64_t stride = 0;  ///< elements between two sets
};

/// Queues the packing of values into memory that has room for them. Errors: no_compiler, missing_kernel.
void queue_packing(const PackedState& packed, const PackSource& source, Stream stream);

/// Packs on the library's own stream, after the work queued so far on `stream`; complete on return. `memory`: the
/// caller's, to pack into, or null. Bytes that packing does not write are zeroed, so that equal values give equal
/// bytes. Errors: out_of_memory, no_compiler, missing_kernel, as require_memory.
PackedValues pack(const Topology& topology, const PackedKind& kind, const PackSource& source, Stream stream,
                  const PackedMemory* memory = nullptr);

/// The kernel that pack() runs.
struct PackingKernel {
  codegen::KernelRequest request;
  std::int64_t shared_bytes = 0;
};
PackingKernel packing_kernel(const PackedKind& kind, Dtype element);

/// Loads the kernel of pack(), so that pack() need not compile. If compiling is forbidden and nothing is stored, pack()
/// reports it.
void prepare_packing(Session& session, const PackedKind& kind, Dtype element);

/// Allocated but unwritten. `memory`: the caller's, to lie in, which keeps its content.
PackedValues empty_packed(const Topology& topology, const PackedKind& kind, const PackedMemory* memory = nullptr);

}  // namespace vostok::plan
