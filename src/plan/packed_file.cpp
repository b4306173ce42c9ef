#include "plan/packed_file.hpp"

#include <unistd.h>  // getpid

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/digest.hpp"
#include "base/field_map.hpp"
#include "base/text.hpp"
#include "plan/packed.hpp"
#include "plan/topology_state.hpp"

namespace vostok {

namespace plan {

namespace {

static_assert(std::endian::native == std::endian::little, "packed values are saved as GPUs keep them: little-endian");

constexpr std::array<char, 8> file_mark = {'V', 'O', 'S', 'T', 'O', 'K', 'P', 'V'};
constexpr std::uint32_t file_version = 1;

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

/// A file, taken apart and found whole.
struct Parts {
  FieldMap description;
  std::span<const std::byte> values;
};

Parts take_apart(std::span<const std::byte> bytes, const std::string& name) {
  Prefix prefix;
  const auto broken = [&](const char* why) { fail(ErrorCode::io_failure, "cannot load packed values from {}: {}", name, why); };
  if (bytes.size() < sizeof(prefix.mark) || std::memcmp(bytes.data(), file_mark.data(), file_mark.size()) != 0) broken("they were not saved there");
  if (bytes.size() < sizeof(Prefix)) broken("it was cut short");
  std::memcpy(&prefix, bytes.data(), sizeof(Prefix));
  if (prefix.version != file_version)
    fail(ErrorCode::io_failure, "cannot load packed values from {}: it has version {}, and this library reads version {}", name, prefix.version,
         file_version);
  const std::size_t rest = bytes.size() - sizeof(Prefix);
  if (prefix.description_bytes > rest || prefix.value_bytes > rest - prefix.description_bytes) broken("it was cut short");
  if (prefix.value_bytes != rest - prefix.description_bytes) broken("it is longer than it says");
  const std::string_view description = text_of(bytes.subspan(sizeof(Prefix), prefix.description_bytes));
  const auto values = bytes.subspan(sizeof(Prefix) + prefix.description_bytes);
  if (digest_of_parts(description, values) != std::string_view(prefix.digest.data(), prefix.digest.size())) broken("its digest does not match");
  auto fields = parse_field_map(description);
  if (!fields) broken("its description is not understood");
  return {.description = *std::move(fields), .values = values};
}

/// What the description says is packed.
PackedKind kind_of(const FieldMap& description, const std::string& name) {
  const auto format = description.find("format");
  const auto sets = description.find("sets");
  auto kind = format != description.end() ? PackedKind::parse(format->second) : std::nullopt;
  std::int64_t count = 0;
  if (sets != description.end()) count = std::strtoll(sets->second.c_str(), nullptr, 10);
  if (!kind || count < 1)
    fail(ErrorCode::io_failure, "cannot load packed values from {}: this library does not know their format \"{}\"", name,
         format != description.end() ? format->second : "");
  kind->sets = count;
  return *kind;
}

/// What kernels find their way by must be the topology's.
void require_structure(const PackedState& packed, std::span<const std::byte> values, const std::string& name) {
  if (packed.kind.packing == nullptr || values.empty()) return;
  const ops::TopologyPointers form = packed_form(packed.topology, packed.kind);
  const std::size_t set_bytes = values.size() / static_cast<std::size_t>(packed.kind.sets);
  for (std::size_t set = 0; set < values.size(); set += set_bytes)
    if (const auto reason = packed.kind.packing->foreign(packed.session->device(), form, values.subspan(set, set_bytes)))
      fail(ErrorCode::io_failure, "cannot load packed values from {}: {}", name, *reason);
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
  const auto [description, values] = take_apart(bytes, name);
  const PackedKind kind = kind_of(description, name);
  for (const auto& [field, value] : describe(topology, kind))
    if (const auto found = description.find(field); found == description.end() || found->second != value)
      fail(ErrorCode::format_mismatch, "cannot load packed values from {}: their {} is {}, and the topology's {}", name, field,
           found == description.end() ? "missing" : found->second, value);
  PackedValues packed = empty_packed(topology, kind);
  if (std::cmp_not_equal(values.size(), packed.bytes()))
    fail(ErrorCode::io_failure, "cannot load packed values from {}: {} bytes of values, and their format has {}", name, values.size(),
         packed.bytes());
  require_structure(*packed.state(), values, name);
  if (!values.empty()) packed.state()->session->device().copy_to_device(packed.state()->memory(), values.data(), packed.bytes());
  return packed;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? std::streamoff{file.tellg()} : -1;
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::max<std::streamoff>(size, 0)));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file) fail(ErrorCode::io_failure, "cannot read {}: {}", path.string(), std::strerror(errno));
  return bytes;
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
  return plan::save_packed(*state_);
}

void PackedValues::save(const std::filesystem::path& path) const { plan::write_file(path, save()); }

}  // namespace vostok
