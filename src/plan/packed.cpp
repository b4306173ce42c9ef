#include "plan/packed.hpp"

#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/topology/csr.hpp"
#include "plan/kernels.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace plan {

namespace {

constexpr const char* transposed_suffix = "/transposed";

void pack_values(const ops::Queue& queue, Session& session, const PackedState& packed, const PackSource& source) {
  ops::Launch launch =
      packed.kind.packing->pack_launch({.topology = packed.topology.state()->pointers(packed.kind.packing_needs()),
                                        .element = source.element,
                                        .value_stride = source.stride,
                                        .sets = packed.kind.sets,
                                        .multiprocessors = session.device().info().multiprocessors});
  launch.set_kernel(session.kernels().get(launch.request(), launch.shared_bytes())->kernel);
  const ops::Packing packing{.values = source.values, .packed = packed.memory()};
  launch.enqueue(session.device(), queue.stream(), &packing);
}

/// The integer type by which values are copied, of the same size.
IntegerType value_integer(Dtype element) { return size_of(element) == 4 ? IntegerType::i32 : IntegerType::u16; }

void copy_csr(const ops::Queue& queue, const PackedState& packed, const PackSource& source) {
  const std::int64_t nonzeros = packed.topology.nonzeros();
  const IntegerType type = value_integer(source.element);
  for (std::int64_t set = 0; set < packed.kind.sets; ++set) {
    const auto* const from = static_cast<const char*>(source.values) + set * source.stride * size_of(source.element);
    auto* const to =
        static_cast<char*>(packed.memory()) + set * ops::persistent_value_stride(nonzeros) * size_of(source.element);
    ops::gather(queue, from, type, nullptr, nonzeros, to, type);
  }
}

/// Clears the room after each set that packing does not write.
void clear_gaps(const PackedState& packed, Stream stream) {
  if (packed.bytes() == 0) return;
  const std::int64_t set_bytes = packed.bytes() / packed.kind.sets;
  const std::int64_t used = packed.kind.packing != nullptr
                                ? packed.kind.packing->used_bytes(packed_form(packed.topology, packed.kind))
                                : packed.topology.nonzeros() * size_of(packed.kind.element);
  if (used == set_bytes) return;
  auto* const memory = static_cast<char*>(packed.memory());
  for (std::int64_t set = 0; set < packed.bytes(); set += set_bytes)
    packed.session->device().fill(stream, memory + set + used, 0, set_bytes - used);
}

}  // namespace

std::string PackedKind::format() const {
  if (packing == nullptr) return fmt::format("csr/{}", name(element));
  return packing->name() + (transposed ? transposed_suffix : "");
}

std::optional<PackedKind> PackedKind::parse(std::string_view format) {
  for (int i = 0; name(static_cast<Dtype>(i)) != nullptr; ++i)
    if (const PackedKind kind{.element = static_cast<Dtype>(i)}; kind.format() == format) return kind;
  PackedKind kind{.transposed = format.ends_with(transposed_suffix)};
  if (kind.transposed) format.remove_suffix(std::string_view(transposed_suffix).size());
  kind.packing = ops::find_packed_format(format);
  if (kind.packing == nullptr) return std::nullopt;
  return kind;
}

ops::TopologyNeeds PackedKind::needs() const {
  ops::TopologyNeeds needs = packing->needs();
  needs.transposed = transposed;
  return needs;
}

ops::TopologyNeeds PackedKind::packing_needs() const {
  ops::TopologyNeeds all = needs();
  all.packing = true;
  return all;
}

PackedKind packed_kind(const ops::SpmmQuery& query, const std::string& format) {
  PackedKind kind{.packing = ops::find_packed_format(format), .sets = ops::packed_sets(query)};
  if (!format.empty() && kind.packing == nullptr)
    fail(ErrorCode::internal, "cannot pack values: \"{}\" names no format", format);
  if (kind.packing != nullptr) kind.transposed = query.problem.sparse_transposed;
  else kind.element = query.problem.element;
  return kind;
}

ops::TopologyPointers packed_form(const Topology& topology, const PackedKind& kind) {
  return topology.state()->pointers(kind.needs());
}

std::int64_t packed_bytes(const Topology& topology, const PackedKind& kind) {
  constexpr const char* what = "bytes of packed values";
  if (kind.packing != nullptr)
    return checked_multiply(kind.sets, kind.packing->set_bytes(packed_form(topology, kind)), what);
  return checked_multiply(kind.sets, ops::persistent_value_stride(topology.nonzeros()) * size_of(kind.element), what);
}

PackingKernel packing_kernel(const PackedKind& kind, Dtype element) {
  if (kind.packing == nullptr) {
    const IntegerType type = value_integer(kind.element);
    const auto step = ops::gather_step(type, type, false);
    return {.request = step.request(), .shared_bytes = step.shared_bytes};
  }
  const ops::Launch launch = kind.packing->pack_launch({.element = element, .sets = kind.sets});
  return {.request = launch.request(), .shared_bytes = launch.shared_bytes()};
}

void prepare_packing(Session& session, const PackedKind& kind, Dtype element) {
  // The kernel that copies values in CSR order is compiled on first use; only a device that never runs it compiles it
  // here.
  if (kind.packing == nullptr && !session.device().only_compiles()) return;
  const PackingKernel kernel = packing_kernel(kind, element);
  try {
    session.kernels().get(kernel.request, kernel.shared_bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::missing_kernel) throw;
  }
}

void require_memory(const device::Device& device, const PackedMemory& memory, std::int64_t bytes, const char* what) {
  constexpr std::uintptr_t alignment = 256;
  if (memory.bytes < bytes)
    fail(ErrorCode::invalid_argument, "cannot {}: the memory has {} bytes, and {} are needed", what, memory.bytes,
         bytes);
  if (bytes == 0) return;
  if (memory.data == nullptr)
    fail(ErrorCode::invalid_argument, "cannot {}: the memory is null, and {} bytes are needed", what, bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data);
  if (const std::uintptr_t lowest = address & (~address + 1); lowest < alignment)
    fail(ErrorCode::misaligned_pointer, "cannot {}: the memory is aligned to {} bytes, and must be to {}", what, lowest,
         alignment);
  if (device.info().gpu && !device.is_device_pointer(memory.data))
    fail(ErrorCode::invalid_argument,
         "cannot {}: the memory lies on the host, and kernels of a GPU read it; load_packed copies", what);
}

PackedValues empty_packed(const Topology& topology, const PackedKind& kind, const PackedMemory* memory) {
  const std::int64_t bytes = packed_bytes(topology, kind);
  auto state = memory != nullptr ? std::make_shared<PackedState>(topology, kind, bytes, *memory)
                                 : std::make_shared<PackedState>(topology, kind, bytes);
  const void* const data = state->memory();
  return {std::move(state), data};
}

void queue_packing(const PackedState& packed, const PackSource& source, Stream stream) {
  Session& session = *packed.session;
  const ops::Queue queue(session.device(), session.step_kernels(), stream);
  packed.note_use(stream);
  if (packed.kind.packing != nullptr) pack_values(queue, session, packed, source);
  else copy_csr(queue, packed, source);
}

PackedValues pack(const Topology& topology, const PackedKind& kind, const PackSource& source, Stream stream,
                  const PackedMemory* memory) {
  const device::Device& device = topology.state()->session()->device();
  const auto held = kind.packing != nullptr ? topology.state()->hold(kind.packing_needs()) : nullptr;
  if (memory != nullptr) require_memory(device, *memory, packed_bytes(topology, kind), "pack values");
  PackedValues packed = empty_packed(topology, kind, memory);
  device.wait_for(stream);
  clear_gaps(*packed.state(), device.own_stream());
  queue_packing(*packed.state(), source, device.own_stream());
  device.synchronize(device.own_stream());
  return packed;
}

}  // namespace plan

PackedState::PackedState(Topology of, const plan::PackedKind& as, std::int64_t bytes)
    : session(of.state()->session()), topology(std::move(of)), kind(as) {
  if (bytes > 0) memory_ = device::Buffer(session->device(), bytes);
  data_ = memory_.data();
  bytes_ = memory_.bytes();
}

PackedState::PackedState(Topology of, const plan::PackedKind& as, std::int64_t bytes, const PackedMemory& memory)
    : session(of.state()->session()),
      topology(std::move(of)),
      kind(as),
      owner_(memory.owner),
      data_(memory.data),
      bytes_(bytes) {}

PackedState::~PackedState() { session->release(memory_.release(), used_); }

namespace {

const PackedState& checked(const std::shared_ptr<const PackedState>& state) {
  if (!state) fail(ErrorCode::invalid_argument, "cannot use packed values: the handle is empty");
  return *state;
}

}  // namespace

std::string PackedValues::format() const { return checked(state_).kind.format(); }

std::int64_t PackedValues::bytes() const { return checked(state_).bytes(); }

const Topology& PackedValues::topology() const { return checked(state_).topology; }

}  // namespace vostok
