#include "plan/packed_head.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/checked.hpp"
#include "base/digest.hpp"
#include "base/field_map.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "plan/topology_state.hpp"

namespace vostok::plan {

namespace {

static_assert(std::endian::native == std::endian::little, "packed values are saved as GPUs keep them: little-endian");

constexpr std::array<char, 8> saved_mark = {'V', 'O', 'S', 'T', 'O', 'K', 'P', 'V'};
constexpr std::uint32_t oldest_version = 1, newest_version = 2;
constexpr std::uint32_t most_description_bytes = 4096;
constexpr std::int64_t head_multiple = 256;
constexpr const char* coding_field = "coding";
constexpr const char* coded_bytes_field = "coded_bytes";

/// The first bytes; the description follows.
struct Prefix {
  std::array<char, 8> mark = saved_mark;
  std::uint32_t version = newest_version;
  std::uint32_t description_bytes = 0;
  std::uint64_t value_bytes = 0;
  std::array<char, 64> digest = {};  ///< of the version, the rest of the head and the values, in hexadecimal digits
};
static_assert(sizeof(Prefix) == 88 && std::is_trivially_copyable_v<Prefix>);

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Prefix read_prefix(std::span<const std::byte> front, std::uint64_t all_bytes, const std::string& name) {
  Prefix prefix;
  if (front.size() < sizeof(prefix.mark) || std::memcmp(front.data(), saved_mark.data(), saved_mark.size()) != 0)
    fail_broken(name, "they were not saved there");
  if (front.size() < sizeof(Prefix)) fail_broken(name, "it was cut short");
  std::memcpy(&prefix, front.data(), sizeof(Prefix));
  if (prefix.version < oldest_version || prefix.version > newest_version)
    fail_broken(name, fmt::format("it has version {}, and this library reads versions {} to {}", prefix.version,
                                  oldest_version, newest_version));
  const std::uint64_t rest = all_bytes - sizeof(Prefix);
  if (prefix.description_bytes > rest || prefix.value_bytes > rest - prefix.description_bytes)
    fail_broken(name, "it was cut short");
  if (prefix.description_bytes > most_description_bytes) fail_broken(name, "its description is not understood");
  return prefix;
}

/// Reads the sizes that only the description contains.
void read_sizes(PackedHead& head, std::uint64_t all_bytes, const std::string& name) {
  std::uint64_t padding = 0;
  const std::uint64_t rest = all_bytes - sizeof(Prefix) - head.description_bytes - head.value_bytes;
  if (head.version > 1) {
    const auto coded = number_in(head.description, coded_bytes_field);
    if (!coded) fail_broken(name, "its description is not understood");
    head.coded_bytes = static_cast<std::uint64_t>(*coded);
    if (head.coded_bytes > rest) fail_broken(name, "it was cut short");
    const auto written = static_cast<std::int64_t>(sizeof(Prefix) + head.description_bytes + head.coded_bytes);
    padding = static_cast<std::uint64_t>(round_up(written, head_multiple) - written);
  }
  if (rest < head.coded_bytes + padding) fail_broken(name, "it was cut short");
  if (rest > head.coded_bytes + padding) fail_broken(name, "it is longer than it says");
  head.bytes = all_bytes - head.value_bytes;
}

}  // namespace

void fail_broken(const std::string& name, const std::string& why) {
  fail(ErrorCode::io_failure, "cannot load packed values from {}: {}", name, why);
}

std::size_t most_front_bytes() { return sizeof(Prefix) + most_description_bytes; }

PackedHead read_head(std::span<const std::byte> front, std::uint64_t all_bytes, const std::string& name) {
  const Prefix prefix = read_prefix(front, all_bytes, name);
  if (prefix.description_bytes > front.size() - sizeof(Prefix)) fail_broken(name, "it was cut short");
  auto description = parse_field_map(text_of(front.subspan(sizeof(Prefix), prefix.description_bytes)));
  if (!description) fail_broken(name, "its description is not understood");
  PackedHead head{.version = prefix.version,
                  .description = *std::move(description),
                  .description_bytes = prefix.description_bytes,
                  .value_bytes = prefix.value_bytes,
                  .digest = std::string(prefix.digest.data(), prefix.digest.size())};
  read_sizes(head, all_bytes, name);
  return head;
}

PackedHead read_head_alone(std::span<const std::byte> head, const std::string& name) {
  constexpr std::uint64_t most_value_bytes = std::uint64_t{1} << 62;
  Prefix prefix;
  if (head.size() >= sizeof(Prefix)) std::memcpy(&prefix, head.data(), sizeof(Prefix));
  if (prefix.value_bytes > most_value_bytes) fail_broken(name, "it was cut short");
  return read_head(head, head.size() + prefix.value_bytes, name);
}

std::optional<std::int64_t> number_in(const FieldMap& description, const char* field) {
  const auto found = description.find(field);
  auto number = found != description.end() ? parse_number<std::int64_t>(found->second) : std::nullopt;
  if (number && *number < 0) number.reset();
  return number;
}

std::string digest_of(const PackedHead& head, std::span<const std::byte> head_bytes,
                      std::span<const std::byte> values) {
  Digest digest;
  digest.add(std::int64_t{head.version}).add(text_of(head_bytes.subspan(sizeof(Prefix), head.description_bytes)));
  if (head.version > 1) digest.add(text_of(head_bytes.subspan(sizeof(Prefix) + head.description_bytes)));
  return digest.add(text_of(values)).hex();
}

std::span<const std::byte> coded_structure_of(const PackedHead& head, std::span<const std::byte> head_bytes) {
  return head_bytes.subspan(sizeof(Prefix) + head.description_bytes, head.coded_bytes);
}

sparse::Csr structure_of(const PackedHead& head, std::span<const std::byte> head_bytes, const std::string& name) {
  if (head.version == 1)
    fail_broken(name, "no structure was saved with them (version 1), and no topology is given that has it");
  const std::string coding =
      head.description.contains(coding_field) ? head.description.at(coding_field) : std::string();
  if (!sparse::knows_coding(coding))
    fail_broken(name, fmt::format("this library does not know the coding \"{}\" of their structure", coding));
  const auto rows = number_in(head.description, "rows"), cols = number_in(head.description, "cols"),
             nonzeros = number_in(head.description, "nonzeros");
  auto structure = rows && cols && nonzeros
                       ? sparse::decode_structure(*rows, *cols, *nonzeros, coding, coded_structure_of(head, head_bytes))
                       : std::nullopt;
  if (!structure) fail_broken(name, "their structure is not one of the sizes that it is said to have");
  const auto named = head.description.find("structure");
  if (named == head.description.end() || named->second != digest_of_structure(*structure))
    fail_broken(name, "their structure is not the one described");
  return *std::move(structure);
}

std::vector<std::byte> write_head(FieldMap description, const sparse::CodedStructure& structure,
                                  std::span<const std::byte> values) {
  description[coding_field] = structure.coding;
  description[coded_bytes_field] = std::to_string(structure.bytes.size());
  const std::string text = to_text(description);
  Prefix prefix{.description_bytes = static_cast<std::uint32_t>(text.size()), .value_bytes = values.size()};
  const auto written = static_cast<std::int64_t>(sizeof(Prefix) + text.size() + structure.bytes.size());
  std::vector<std::byte> bytes(static_cast<std::size_t>(round_up(written, head_multiple)));
  std::byte* const behind_prefix = bytes.data() + sizeof(Prefix);
  const auto text_bytes = std::as_bytes(std::span(text));
  std::copy(structure.bytes.begin(), structure.bytes.end(),
            std::copy(text_bytes.begin(), text_bytes.end(), behind_prefix));
  const std::string digest =
      digest_of({.version = prefix.version, .description_bytes = prefix.description_bytes}, bytes, values);
  std::copy(digest.begin(), digest.end(), prefix.digest.begin());
  std::memcpy(bytes.data(), &prefix, sizeof(Prefix));
  return bytes;
}

}  // namespace vostok::plan
