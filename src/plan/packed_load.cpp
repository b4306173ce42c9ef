// From saved bytes, in host memory, a file or the caller's device memory, to packed values.
#include <algorithm>
#include <utility>

#include "base/boundary.hpp"
#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "plan/packed.hpp"
#include "plan/packed_description.hpp"
#include "plan/packed_file.hpp"
#include "plan/packed_probe.hpp"
#include "plan/topology_state.hpp"

namespace vostok::plan {

namespace {

constexpr const char* adopting = "adopt packed values";

/// The saved bytes, on the host.
struct SavedBytes {
  PackedHead head;
  std::span<const std::byte> head_bytes;
  std::span<const std::byte> values;
};

/// Compares sizes before anything is allocated for them.
void require_size(const Topology& topology, const PackedKind& kind, std::uint64_t value_bytes,
                  const std::string& name) {
  const auto sets = static_cast<std::uint64_t>(kind.sets);
  const std::uint64_t least_set_bytes = static_cast<std::uint64_t>(topology.nonzeros()) * size_of(Dtype::f16);
  PackedKind one = kind;
  one.sets = 1;
  const bool fits = sets == 0 ? value_bytes == 0
                              : value_bytes % sets == 0 && value_bytes / sets >= least_set_bytes &&
                                    value_bytes / sets == static_cast<std::uint64_t>(packed_bytes(topology, one));
  if (!fits)
    fail_broken(name, fmt::format("{} bytes of values are not {} sets of what their format has for the topology",
                                  value_bytes, sets));
}

/// The kind described by this head, checked against the topology.
PackedKind checked_kind(const Topology& topology, const PackedHead& head, const std::string& name) {
  const PackedKind kind = kind_of(head.description, name);
  for (const auto& [field, value] : describe_packed(topology, kind))
    if (const auto found = head.description.find(field); found == head.description.end() || found->second != value)
      fail(ErrorCode::format_mismatch, "cannot load packed values from {}: their {} is {}, and the topology's {}", name,
           field, found == head.description.end() ? "missing" : found->second, value);
  require_size(topology, kind, head.value_bytes, name);
  return kind;
}

/// Requires that the bytes kernels use to find their way are the topology's.
void require_structure(const Topology& topology, const PackedKind& kind, std::span<const std::byte> values,
                       const std::string& name) {
  if (kind.packing == nullptr || values.empty()) return;
  const PackedProbe probe(topology, kind);
  const std::size_t set_bytes = values.size() / static_cast<std::size_t>(kind.sets);
  for (std::size_t set = 0; set < values.size(); set += set_bytes)
    if (const auto place = probe.first_foreign(values.subspan(set, set_bytes)))
      fail_broken(name,
                  fmt::format("byte {} of set {} places values where the topology has none", *place, set / set_bytes));
}

/// Limits the columns of a transpose: it takes memory for each, but the saved structure need not have a byte for each.
void require_columns(const SavedBytes& saved, const sparse::Csr& structure, const std::string& name) {
  constexpr std::int64_t always = 1 << 24;
  const auto bytes = static_cast<std::int64_t>(saved.head.bytes + saved.head.value_bytes);
  if (kind_of(saved.head.description, name).transposed && structure.cols > std::max(always, 64 * bytes))
    fail_broken(name, fmt::format("{} columns are more than {} bytes hold of a transpose", structure.cols, bytes));
}

Topology made_topology(const SessionPointer& session, const SavedBytes& saved, const std::string& name) {
  const sparse::Csr structure = structure_of(saved.head, saved.head_bytes, name);
  require_columns(saved, structure, name);
  const auto coded = coded_structure_of(saved.head, saved.head_bytes);
  auto state = std::make_shared<TopologyState>(session, structure.view(), nullptr);
  state->note_structure(saved.head.description.at("structure"), {.coding = saved.head.description.at("coding"),
                                                                 .bytes = std::vector(coded.begin(), coded.end())});
  return Topology(std::move(state));
}

/// Releases what `keep` does not name. Only packed forms can do without the CSR arrays.
void keep_only(const Topology& topology, const PackedKind& kind, Keep keep) {
  if (kind.packing == nullptr || keep == Keep::everything) return;
  packed_form(topology, kind);  // of no sets too
  if (keep == Keep::packing) topology.release_source();
  else topology.release_packing();
}

/// `in_place`: the caller's memory that already holds the values, or null.
PackedValues load_saved(const SessionPointer& session, const SavedBytes& saved, const LoadOptions& options,
                        const std::string& name, const PackedMemory* in_place) {
  if (digest_of(saved.head, saved.head_bytes, saved.values) != saved.head.digest)
    fail_broken(name, "its digest does not match");
  const Topology topology = options.topology ? options.topology : made_topology(session, saved, name);
  const PackedKind kind = checked_kind(topology, saved.head, name);
  require_structure(topology, kind, saved.values, name);
  PackedValues packed = empty_packed(topology, kind, in_place);
  if (in_place == nullptr && !saved.values.empty())
    session->device().copy_to_device(packed.state()->memory(), saved.values.data(), packed.bytes());
  if (!options.topology) keep_only(topology, kind, options.keep);
  return packed;
}

/// Loads from the whole saved bytes.
PackedValues load_bytes(const SessionPointer& session, std::span<const std::byte> bytes, const LoadOptions& options,
                        const std::string& name, const PackedMemory* in_place = nullptr) {
  const PackedHead head = read_head(bytes, bytes.size(), name);
  return load_saved(session, {.head = head, .head_bytes = bytes.first(head.bytes), .values = bytes.subspan(head.bytes)},
                    options, name, in_place);
}

/// Runs `load()`; out_of_memory names the file.
template <class Load>
PackedValues naming_file(const std::string& name, const Load& load) {
  const std::string object = fmt::format("packed values from {}", name);
  try {
    return at_boundary("load", object.c_str(), load);
  } catch (const Error& error) {
    const bool says_so = std::string_view(error.what()).find(name) != std::string_view::npos;
    if (error.code() != ErrorCode::out_of_memory || says_so) throw;
    fail(ErrorCode::out_of_memory, "cannot load {}: {}", object, error.what());
  }
}

/// The first `count` bytes, or all that the file had when it was opened.
std::vector<std::byte> first_bytes(const RegularFile& file, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, file.bytes())));
  if (file.read(0, bytes) < bytes.size()) file.refuse("it became shorter meanwhile");
  return bytes;
}

/// A host copy of the caller's memory.
std::vector<std::byte> read_memory(Session& session, const void* data, std::uint64_t bytes, Stream stream) {
  std::vector<std::byte> read(static_cast<std::size_t>(bytes));
  session.device().copy_to_host(read.data(), data, static_cast<std::int64_t>(bytes), stream);
  return read;
}

}  // namespace

PackedValues load_packed(const SessionPointer& session, std::span<const std::byte> bytes, const LoadOptions& options,
                         const std::string& name) {
  return naming_file(name, [&] { return load_bytes(session, bytes, options, name); });
}

PackedValues load_packed(const SessionPointer& session, const std::filesystem::path& path, const LoadOptions& options) {
  const std::string name = path.string();
  return naming_file(name, [&] {
    const RegularFile file(path);
    // A file that does not fit is not read to its end.
    const std::vector<std::byte> front = first_bytes(file, static_cast<std::int64_t>(most_front_bytes()));
    const PackedHead head = read_head(front, static_cast<std::uint64_t>(file.bytes()), name);
    if (options.topology) checked_kind(options.topology, head, name);
    return load_bytes(session, first_bytes(file, file.bytes()), options, name);
  });
}

PackedValues adopt_packed(const SessionPointer& session, std::span<const std::byte> head_bytes,
                          const PackedMemory& values, const LoadOptions& options) {
  const std::string name = "memory";
  return naming_file(name, [&] {
    const PackedHead head = read_head_alone(head_bytes, name);
    require_memory(session->device(), values, static_cast<std::int64_t>(head.value_bytes), adopting);
    const std::vector<std::byte> copy = read_memory(*session, values.data, head.value_bytes, options.stream);
    return load_saved(session, {.head = head, .head_bytes = head_bytes, .values = copy}, options, name, &values);
  });
}

PackedValues adopt_packed(const SessionPointer& session, const PackedMemory& saved, const LoadOptions& options) {
  const std::string name = "memory";
  return naming_file(name, [&] {
    require_memory(session->device(), saved, std::max<std::int64_t>(saved.bytes, 1), adopting);
    const std::vector<std::byte> copy =
        read_memory(*session, saved.data, static_cast<std::uint64_t>(saved.bytes), options.stream);
    const PackedHead head = read_head(copy, copy.size(), name);
    const PackedMemory values{.data = static_cast<std::byte*>(saved.data) + head.bytes,
                              .bytes = static_cast<std::int64_t>(head.value_bytes),
                              .owner = saved.owner};
    require_memory(session->device(), values, values.bytes, adopting);  // for version 1, which did not align the values
    return load_bytes(session, copy, options, name, &values);
  });
}

PackedValues load_packed(const Topology& topology, std::span<const std::byte> bytes, const std::string& name) {
  return load_packed(topology.state()->session(), bytes, {.topology = topology}, name);
}

PackedValues load_packed(const Topology& topology, const std::filesystem::path& path) {
  return load_packed(topology.state()->session(), path, {.topology = topology});
}

}  // namespace vostok::plan
