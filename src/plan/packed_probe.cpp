#include "plan/packed_probe.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "plan/packed.hpp"
#include "plan/topology_state.hpp"

namespace vostok::plan {

namespace {

/// Size of the smallest unit in which formats keep values.
constexpr std::size_t value_bytes = 2;

/// A byte whose repetition, as a value of any type, has no zero half or zero 16-bit term.
constexpr int other_byte = 0x3c;

std::vector<std::byte> packed_bytes_of(const PackedState& packed, const PackSource& source) {
  const device::Device& device = packed.session->device();
  device.fill(device.own_stream(), packed.memory(), 0, packed.bytes());
  queue_packing(packed, source, device.own_stream());
  std::vector<std::byte> bytes(static_cast<std::size_t>(packed.bytes()));
  packed.session->device().copy_to_host(bytes.data(), packed.memory(), packed.bytes());
  return bytes;
}

}  // namespace

PackedProbe::PackedProbe(const Topology& topology, PackedKind kind) {
  kind.sets = 1;
  const PackedValues packed = empty_packed(topology, kind);
  if (packed.bytes() == 0) return;
  device::Device& device = packed.state()->session->device();
  const std::vector<Dtype> types = kind.packing->value_types();
  for (const Dtype type : types) {
    const std::int64_t count = std::max<std::int64_t>(topology.nonzeros(), 1);
    const device::Buffer values(device, count * size_of(type));
    try {
      device.fill(device.own_stream(), values.data(), 0, values.bytes());
      zeros_ = packed_bytes_of(*packed.state(), {.values = values.data(), .element = type});
      device.fill(device.own_stream(), values.data(), other_byte, values.bytes());
      others_ = packed_bytes_of(*packed.state(), {.values = values.data(), .element = type});
      return;
    } catch (const Error& error) {
      // If compiling is forbidden, the packing kernel for values of another type may still be stored.
      if (error.code() != ErrorCode::missing_kernel || type == types.back()) throw;
    }
  }
}

std::optional<std::size_t> PackedProbe::first_foreign(std::span<const std::byte> set) const {
  for (std::size_t at = 0; at < set.size(); at += value_bytes) {
    const bool is_structure = std::memcmp(zeros_.data() + at, others_.data() + at, value_bytes) == 0;
    if (is_structure && std::memcmp(set.data() + at, zeros_.data() + at, value_bytes) != 0) return at;
  }
  return std::nullopt;
}

}  // namespace vostok::plan
