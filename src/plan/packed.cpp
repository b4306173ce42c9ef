#include "plan/packed.hpp"

#include <utility>

#include "base/text.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/topology/csr.hpp"
#include "ops/topology/pack_strips.hpp"
#include "plan/kernels.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace plan {

namespace {

ops::PackStrips strips_of(const PackedKind& kind, const PackSource& source) {
  return {.mode = *kind.strips, .element = source.element, .value_stride = source.stride, .sets = kind.sets};
}

void pack_strips(const ops::Queue& queue, Session& session, const PackedState& packed, const PackSource& source) {
  ops::PackStrips what = strips_of(packed.kind, source);
  what.structure = packed_structure(packed.topology, packed.kind);
  what.layout = ops::packed_layout(what.mode, what.structure);
  what.multiprocessors = session.device().info().multiprocessors;
  ops::Launch launch = ops::pack_strips_launch<ops::Packing>(what, [](const ops::Packing& call) { return call; });
  launch.set_kernel(session.kernels().get(launch.request(), launch.shared_bytes())->kernel);
  const ops::Packing packing{.values = source.values, .packed = packed.memory()};
  launch.enqueue(session.device(), queue.stream(), &packing);
}

/// Values are copied as numbers of their size.
void copy_csr(const ops::Queue& queue, const PackedState& packed, const PackSource& source) {
  const std::int64_t nonzeros = packed.topology.nonzeros();
  const IntegerType type = size_of(source.element) == 4 ? IntegerType::i32 : IntegerType::u16;
  for (std::int64_t set = 0; set < packed.kind.sets; ++set) {
    const auto* const from = static_cast<const char*>(source.values) + set * source.stride * size_of(source.element);
    auto* const to = static_cast<char*>(packed.memory()) + set * ops::persistent_value_stride(nonzeros) * size_of(source.element);
    ops::gather(queue, from, type, nullptr, nonzeros, to, type);
  }
}

}  // namespace

std::string PackedKind::format() const {
  if (!strips) return fmt::format("csr/{}", name(element));
  return ops::packed_format(*strips) + (transposed ? "/transposed" : "");
}

std::optional<PackedKind> PackedKind::parse(std::string_view format) {
  const auto named = [&](const PackedKind& kind) { return kind.format() == format; };
  for (int i = 0; name(static_cast<Dtype>(i)) != nullptr; ++i)
    if (const PackedKind kind{.element = static_cast<Dtype>(i)}; named(kind)) return kind;
  for (int i = 0; name(static_cast<PackedMode>(i)) != nullptr; ++i)
    for (const bool transposed : {false, true})
      if (const PackedKind kind{.strips = static_cast<PackedMode>(i), .transposed = transposed}; named(kind)) return kind;
  return std::nullopt;
}

PackedKind packed_kind(const ops::SpmmQuery& query, const std::string& format) {
  PackedKind kind{.strips = ops::packed_mode(format), .sets = ops::packed_sets(query)};
  if (!format.empty() && !kind.strips) fail(ErrorCode::internal, "cannot pack values: \"{}\" names no format", format);
  if (kind.strips) kind.transposed = query.problem.sparse_transposed;
  else kind.element = query.problem.element;
  return kind;
}

PackedStructure packed_structure(const Topology& topology, const PackedKind& kind) {
  return topology.state()->pointers({.transposed = kind.transposed, .packed_strips = true}).packed;
}

std::int64_t packed_bytes(const Topology& topology, const PackedKind& kind) {
  if (kind.strips) return kind.sets * ops::packed_layout(*kind.strips, packed_structure(topology, kind)).set_bytes;
  return kind.sets * ops::persistent_value_stride(topology.nonzeros()) * size_of(kind.element);
}

void prepare_packing(Session& session, const PackedKind& kind, Dtype element) {
  if (!kind.strips) return;
  const ops::PackStrips what = strips_of(kind, {.element = element});
  try {
    session.kernels().get(ops::pack_strips::request(what), ops::pack_strips::shape(what).shared_bytes);
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
  if (packed.kind.strips) pack_strips(queue, session, packed, source);
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
