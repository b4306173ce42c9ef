#include "plan/packed_file.hpp"

#include <unistd.h>  // getpid

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/boundary.hpp"
#include "base/digest.hpp"
#include "base/field_map.hpp"
#include "base/number_text.hpp"
#include "base/regular_file.hpp"
#include "base/text.hpp"
#include "plan/packed.hpp"
#include "plan/packed_probe.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace plan {

namespace {

static_assert(std::endian::native == std::endian::little, "packed values are saved as GPUs keep them: little-endian");

constexpr std::array<char, 8> file_mark = {'V', 'O', 'S', 'T', 'O', 'K', 'P', 'V'};
constexpr std::uint32_t file_version = 1;
constexpr std::uint32_t most_description_bytes = 4096;

/// What the bytes start with; the description follows, then the values.
struct Prefix {
  std::array<char, 8> mark = file_mark;
  std::uint32_t version = file_version;
  std::uint32_t description_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::array<char, 64> digest = {};  ///< of the version, the description and the values, in hexadecimal digits
};
static_assert(sizeof(Prefix) == 88 && std::is_trivially_copyable_v<Prefix>);

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string digest_of_parts(std::string_view description, std::span<const std::byte> values) {
  return Digest().add(std::int64_t{file_version}).add(description).add(text_of(values)).hex();
}

/// Everything that must be alike where the values are used again.
FieldMap describe(const Topology& topology, const PackedKind& kind) {
  return {{"format", kind.format()},
          {"sets", std::to_string(kind.sets)},
          {"rows", std::to_string(topology.rows())},
          {"cols", std::to_string(topology.cols())},
          {"nonzeros", std::to_string(topology.nonzeros())},
          {"structure", topology.state()->structure_digest()}};
}

/// Room that nothing was written to, between sets and behind them, becomes zero: the same values are the same bytes.
void clear_gaps(const PackedState& packed, std::span<std::byte> values) {
  if (values.empty()) return;
  const std::size_t set_bytes = values.size() / static_cast<std::size_t>(packed.kind.sets);
  auto used = static_cast<std::size_t>(packed.topology.nonzeros() * size_of(packed.kind.element));
  if (packed.kind.packing != nullptr) used = static_cast<std::size_t>(packed.kind.packing->used_bytes(packed_form(packed.topology, packed.kind)));
  for (std::size_t set = 0; set < values.size(); set += set_bytes) std::memset(values.data() + set + used, 0, set_bytes - used);
}

[[noreturn]] void fail_broken(const std::string& name, const std::string& why) {
  fail(ErrorCode::io_failure, "cannot load packed values from {}: {}", name, why);
}

/// The first bytes of a file of so many. No more is believed of them than that they fit together.
Prefix checked_prefix(std::span<const std::byte> front, std::uint64_t all_bytes, const std::string& name) {
  Prefix prefix;
  if (front.size() < sizeof(prefix.mark) || std::memcmp(front.data(), file_mark.data(), file_mark.size()) != 0)
    fail_broken(name, "they were not saved there");
  if (front.size() < sizeof(Prefix)) fail_broken(name, "it was cut short");
  std::memcpy(&prefix, front.data(), sizeof(Prefix));
  if (prefix.version != file_version)
    fail_broken(name, fmt::format("it has version {}, and this library reads version {}", prefix.version, file_version));
  const std::uint64_t rest = all_bytes - sizeof(Prefix);
  if (prefix.description_bytes > rest || prefix.value_bytes > rest - prefix.description_bytes) fail_broken(name, "it was cut short");
  if (prefix.value_bytes != rest - prefix.description_bytes) fail_broken(name, "it is longer than it says");
  if (prefix.description_bytes > most_description_bytes) fail_broken(name, "its description is not understood");
  return prefix;
}

/// What the description says is packed.
PackedKind kind_of(const FieldMap& description, const std::string& name) {
  const auto format = description.find("format");
  const auto sets = description.find("sets");
  auto kind = format != description.end() ? PackedKind::parse(format->second) : std::nullopt;
  const auto count = sets != description.end() ? parse_number<std::int64_t>(sets->second) : std::nullopt;
  if (!kind) fail_broken(name, fmt::format("this library does not know their format \"{}\"", format != description.end() ? format->second : ""));
  if (!count || *count < 0) fail_broken(name, fmt::format("they are said to be \"{}\" sets", sets != description.end() ? sets->second : ""));
  kind->sets = *count;
  return *kind;
}

/// Sizes are compared before anything is made for them.
void require_size(const Topology& topology, const PackedKind& kind, std::uint64_t value_bytes, const std::string& name) {
  const auto sets = static_cast<std::uint64_t>(kind.sets);
  const std::uint64_t least_set_bytes = static_cast<std::uint64_t>(topology.nonzeros()) * size_of(Dtype::f16);
  PackedKind one = kind;
  one.sets = 1;
  const bool fits = sets == 0 ? value_bytes == 0
                              : value_bytes % sets == 0 && value_bytes / sets >= least_set_bytes &&
                                    value_bytes / sets == static_cast<std::uint64_t>(packed_bytes(topology, one));
  if (!fits) fail_broken(name, fmt::format("{} bytes of values are not {} sets of what their format has for the topology", value_bytes, sets));
}

/// What is packed in a file whose description this is.
PackedKind checked_kind(const Topology& topology, std::string_view description, std::uint64_t value_bytes, const std::string& name) {
  const auto fields = parse_field_map(description);
  if (!fields) fail_broken(name, "its description is not understood");
  const PackedKind kind = kind_of(*fields, name);
  for (const auto& [field, value] : describe(topology, kind))
    if (const auto found = fields->find(field); found == fields->end() || found->second != value)
      fail(ErrorCode::format_mismatch, "cannot load packed values from {}: their {} is {}, and the topology's {}", name, field,
           found == fields->end() ? "missing" : found->second, value);
  require_size(topology, kind, value_bytes, name);
  return kind;
}

/// What kernels find their way by must be the topology's.
void require_structure(const Topology& topology, const PackedKind& kind, std::span<const std::byte> values, const std::string& name) {
  if (kind.packing == nullptr || values.empty()) return;
  const PackedProbe probe(topology, kind);
  const std::size_t set_bytes = values.size() / static_cast<std::size_t>(kind.sets);
  for (std::size_t set = 0; set < values.size(); set += set_bytes)
    if (const auto place = probe.first_foreign(values.subspan(set, set_bytes)))
      fail_broken(name, fmt::format("byte {} of set {} places values where the topology has none", *place, set / set_bytes));
}

/// Of a whole file's bytes.
PackedValues load_bytes(const Topology& topology, std::span<const std::byte> bytes, const std::string& name) {
  const Prefix prefix = checked_prefix(bytes, bytes.size(), name);
  const std::string_view description = text_of(bytes.subspan(sizeof(Prefix), prefix.description_bytes));
  const auto values = bytes.subspan(sizeof(Prefix) + prefix.description_bytes);
  if (digest_of_parts(description, values) != std::string_view(prefix.digest.data(), prefix.digest.size()))
    fail_broken(name, "its digest does not match");
  const PackedKind kind = checked_kind(topology, description, values.size(), name);
  require_structure(topology, kind, values, name);
  PackedValues packed = empty_packed(topology, kind);
  if (!values.empty()) packed.state()->session->device().copy_to_device(packed.state()->memory(), values.data(), packed.bytes());
  return packed;
}

/// `load()`, whose lack of memory is that of loading a file.
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

}  // namespace

std::vector<std::byte> save_packed(const PackedState& packed) {
  std::vector<std::byte> values(static_cast<std::size_t>(packed.bytes()));
  if (!values.empty()) packed.session->device().copy_to_host(values.data(), packed.memory(), packed.bytes());
  clear_gaps(packed, values);
  const std::string description = to_text(describe(packed.topology, packed.kind));
  Prefix prefix{.description_bytes = static_cast<std::uint32_t>(description.size()), .value_bytes = values.size()};
  const std::string digest = digest_of_parts(description, values);
  std::copy(digest.begin(), digest.end(), prefix.digest.begin());

  std::vector<std::byte> bytes(sizeof(prefix) + description.size() + values.size());
  std::byte* end = bytes.data();
  const auto append = [&](std::span<const std::byte> part) { end = std::copy(part.begin(), part.end(), end); };
  append(std::as_bytes(std::span(&prefix, 1)));
  append(std::as_bytes(std::span(description)));
  append(values);
  return bytes;
}

PackedValues load_packed(const Topology& topology, std::span<const std::byte> bytes, const std::string& name) {
  return naming_file(name, [&] { return load_bytes(topology, bytes, name); });
}

namespace {

/// At most all that the file had when it was opened.
std::vector<std::byte> first_bytes(const RegularFile& file, std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, file.bytes())));
  if (file.read(0, bytes) < bytes.size()) file.refuse("it became shorter meanwhile");
  return bytes;
}

}  // namespace

PackedValues load_packed(const Topology& topology, const std::filesystem::path& path) {
  const std::string name = path.string();
  return naming_file(name, [&] {
    const RegularFile file(path);
    // A file that does not fit is not read to its end.
    const std::vector<std::byte> front = first_bytes(file, std::int64_t{sizeof(Prefix)} + most_description_bytes);
    const Prefix prefix = checked_prefix(front, static_cast<std::uint64_t>(file.bytes()), name);
    checked_kind(topology, text_of(std::span(front).subspan(sizeof(Prefix), prefix.description_bytes)), prefix.value_bytes, name);
    return load_bytes(topology, first_bytes(file, file.bytes()), name);
  });
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::filesystem::path part = path;
  part += fmt::format(".{}.part", getpid());
  std::ofstream file(part, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code failure;
  if (file) std::filesystem::rename(part, path, failure);
  else failure = std::error_code(errno, std::generic_category());
  if (!failure) return;
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  fail(ErrorCode::io_failure, "cannot write {}: {}", path.string(), failure.message());
}

}  // namespace plan

std::vector<std::byte> PackedValues::save() const {
  if (!state_) fail(ErrorCode::invalid_argument, "cannot save packed values: the handle is empty");
  state_->session->device().require_here("save packed values");
  return at_boundary("save", "packed values", [&] { return plan::save_packed(*state_); });
}

void PackedValues::save(const std::filesystem::path& path) const {
  at_boundary("save", "packed values", [&] { plan::write_file(path, save()); });
}

}  // namespace vostok
