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
  ops::Launch launch = packed.kind.packing->pack_launch({.topology = packed_form(packed.topology, packed.kind),
                                                         .element = source.element,
                                                         .value_stride = source.stride,
                                                         .sets = packed.kind.sets,
                                                         .multiprocessors = session.device().info().multiprocessors});
  launch.set_kernel(session.kernels().get(launch.request(), launch.shared_bytes())->kernel);
  const ops::Packing packing{.values = source.values, .packed = packed.memory()};
  launch.enqueue(session.device(), queue.stream(), &packing);
}

/// Values are copied as numbers of their size.
IntegerType value_integer(Dtype element) { return size_of(element) == 4 ? IntegerType::i32 : IntegerType::u16; }

void copy_csr(const ops::Queue& queue, const PackedState& packed, const PackSource& source) {
  const std::int64_t nonzeros = packed.topology.nonzeros();
  const IntegerType type = value_integer(source.element);
  for (std::int64_t set = 0; set < packed.kind.sets; ++set) {
    const auto* const from = static_cast<const char*>(source.values) + set * source.stride * size_of(source.element);
    auto* const to = static_cast<char*>(packed.memory()) + set * ops::persistent_value_stride(nonzeros) * size_of(source.element);
    ops::gather(queue, from, type, nullptr, nonzeros, to, type);
  }
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

PackedKind packed_kind(const ops::SpmmQuery& query, const std::string& format) {
  PackedKind kind{.packing = ops::find_packed_format(format), .sets = ops::packed_sets(query)};
  if (!format.empty() && kind.packing == nullptr) fail(ErrorCode::internal, "cannot pack values: \"{}\" names no format", format);
  if (kind.packing != nullptr) kind.transposed = query.problem.sparse_transposed;
  else kind.element = query.problem.element;
  return kind;
}

ops::TopologyPointers packed_form(const Topology& topology, const PackedKind& kind) { return topology.state()->pointers(kind.needs()); }

std::int64_t packed_bytes(const Topology& topology, const PackedKind& kind) {
  constexpr const char* what = "bytes of packed values";
  if (kind.packing != nullptr) return checked_multiply(kind.sets, kind.packing->set_bytes(packed_form(topology, kind)), what);
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
  // A copy of values in CSR order is compiled when it is first made, but where nothing runs.
  if (kind.packing == nullptr && !session.device().only_compiles()) return;
  const PackingKernel kernel = packing_kernel(kind, element);
  try {
    session.kernels().get(kernel.request, kernel.shared_bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::missing_kernel) throw;
  }
}

PackedValues empty_packed(const Topology& topology, const PackedKind& kind) {
  auto state = std::make_shared<PackedState>(topology, kind, packed_bytes(topology, kind));
  const void* const memory = state->memory();
  return {std::move(state), memory};
}

void queue_packing(const PackedState& packed, const PackSource& source, Stream stream) {
  Session& session = *packed.session;
  const ops::Queue queue(session.device(), session.step_kernels(), stream);
  packed.note_use(stream);
  if (packed.kind.packing != nullptr) pack_values(queue, session, packed, source);
  else copy_csr(queue, packed, source);
}

PackedValues pack(const Topology& topology, const PackedKind& kind, const PackSource& source, Stream stream) {
  PackedValues packed = empty_packed(topology, kind);
  const device::Device& device = packed.state()->session->device();
  device.wait_for(stream);
  queue_packing(*packed.state(), source, device.own_stream());
  device.synchronize(device.own_stream());
  return packed;
}

}  // namespace plan

PackedState::PackedState(Topology of, const plan::PackedKind& as, std::int64_t bytes)
    : session(of.state()->session()), topology(std::move(of)), kind(as) {
  if (bytes > 0) memory_ = device::Buffer(session->device(), bytes);
}

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
