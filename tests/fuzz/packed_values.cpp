// Files of packed values: kernels that read what was loaded stay within their memory, as the emulator tells.
//
// An input is a file, or, where it does not begin like one, a description's line and values: the file's lengths and
// digest are made around them, so that what lies behind the digest is reached too. A description that tells the bytes
// of a coded structure is followed by those, then the values; its digest of the structure is put in where it has none.
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <vostok/vostok.hpp>

#include "base/checked.hpp"
#include "base/digest.hpp"
#include "base/field_map.hpp"
#include "fuzz/input.hpp"
#include "plan/packed_file.hpp"
#include "plan/packed_head.hpp"
#include "plan/topology_state.hpp"
#include "sparse/generate.hpp"

namespace vostok::fuzz {

namespace {

constexpr std::int64_t rows = 40, cols = 96, n = 8;
constexpr std::string_view file_mark = "VOSTOKPV";
constexpr std::int64_t prefix_bytes = 88;

struct Family {
  const char* name;
  Dtype element;
};
constexpr Family families[] = {{"row_tile", Dtype::f32},
                               {"unpack_mma", Dtype::f32},
                               {"unpack_mma", Dtype::f16},
                               {"sparse_vector", Dtype::f16},
                               {"sparse_tensor_mma", Dtype::bf16}};

/// What inputs are loaded for. Made once, as it compiles kernels.
struct Readers {
  Context context =
      Context({.device = "emulator", .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});
  Topology topology = context.topology(sparse::uniform(rows, cols, 0.5, 17).view());
  std::map<std::string, SpmmPlan> plans;  ///< by the format that they read

  Readers() {
    for (const auto& [name, element] : families) {
      const Spmm problem{.n = name == std::string_view("sparse_vector") ? 1 : n,
                         .element = element,
                         .value_lifetime = ValueLifetime::persistent};
      const SpmmPlan plan = context.plan(problem, topology, {.effort = Effort::heuristic, .family = name});
      plans.emplace(plan.packed_format(), plan);
    }
  }

  void execute(const PackedValues& packed) const {
    const auto plan = plans.find(packed.format());
    if (plan != plans.end()) execute(plan->second, packed);
  }
  /// With values of another topology. Few masks have a shape that the plans' buffers suit, and others are not looked
  /// at.
  void execute_alone(const PackedValues& packed) const {
    const auto plan = plans.find(packed.format());
    if (plan == plans.end() || packed.topology().rows() != rows || packed.topology().cols() != cols) return;
    takes([&] { execute(plan->second.rebind(packed.topology()), packed); });
  }

 private:
  static void execute(const SpmmPlan& plan, const PackedValues& packed) {
    if (packed.format() != plan.packed_format() || packed.bytes() != plan.packed_bytes()) return;
    const std::vector<float> dense(static_cast<std::size_t>(cols * n), 1.0F);
    std::vector<float> output(static_cast<std::size_t>(rows * n));
    const Workspace workspace = plan.make_workspace();
    plan.execute(nullptr, {.packed = packed, .dense = dense.data(), .output = output.data(), .workspace = workspace});
  }
};

void append(std::string& file, const void* bytes, std::size_t count) {
  file.append(static_cast<const char*>(bytes), count);
}

/// The coded structure that a description's values begin with, where it tells of one.
struct Coded {
  FieldMap fields = {};
  std::string_view bytes = {};
};

std::optional<Coded> coded_part(std::string_view description, std::string_view behind) {
  auto fields = parse_field_map(description);
  const auto bytes = fields ? plan::number_in(*fields, "coded_bytes") : std::nullopt;
  if (!bytes) return std::nullopt;
  return Coded{.fields = *std::move(fields), .bytes = behind.substr(0, static_cast<std::size_t>(*bytes))};
}

/// With the digest of its structure, where it does not say one.
std::string described(Coded coded) {
  const auto size = [&](const char* field) { return plan::number_in(coded.fields, field).value_or(0); };
  if (coded.fields.contains("structure") || !coded.fields.contains("coding")) return to_text(coded.fields);
  const auto structure = sparse::decode_structure(size("rows"), size("cols"), size("nonzeros"), coded.fields["coding"],
                                                  std::as_bytes(std::span(coded.bytes)));
  if (structure) coded.fields["structure"] = plan::digest_of_structure(*structure);
  return to_text(coded.fields);
}

/// As PackedValues::save lays it out.
std::string file_around(std::string_view input) {
  const std::size_t line = input.find('\n');
  std::string description(input.substr(0, line));
  std::string_view values = line == std::string_view::npos ? std::string_view() : input.substr(line + 1);
  const auto coded = coded_part(description, values);
  const std::uint32_t version = coded ? 2 : 1;
  std::string structure;
  if (coded) {
    description = described(*coded);
    values.remove_prefix(coded->bytes.size());
    structure = coded->bytes;
    const auto written = prefix_bytes + static_cast<std::int64_t>(description.size() + structure.size());
    structure.append(static_cast<std::size_t>(round_up(written, 256) - written), '\0');
  }
  const auto description_bytes = static_cast<std::uint32_t>(description.size());
  const std::uint64_t value_bytes = values.size();
  std::string file(file_mark);
  append(file, &version, sizeof version);
  append(file, &description_bytes, sizeof description_bytes);
  append(file, &value_bytes, sizeof value_bytes);
  Digest digest;
  digest.add(std::int64_t{version}).add(description);
  if (coded) digest.add(structure);
  file += digest.add(values).hex();
  return file.append(description).append(structure).append(values);
}

}  // namespace

void read_input(std::string_view bytes) {
  static const Readers readers;
  const std::string text = bytes.starts_with(file_mark) ? std::string(bytes) : file_around(bytes);
  const auto file = std::as_bytes(std::span(text));
  PackedValues packed;
  if (takes([&] { packed = plan::load_packed(readers.topology, file, "an input"); })) readers.execute(packed);
  if (!takes([&] { packed = readers.context.load_packed(file, {.keep = Keep::execution}); })) return;
  const std::vector<std::byte> saved = packed.save();
  require(takes([&] { readers.context.load_packed(saved); }), "what was loaded and saved again is loaded");
  readers.execute_alone(packed);
}

}  // namespace vostok::fuzz
