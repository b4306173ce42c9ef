// Files of packed values: kernels that read what was loaded stay within their memory, as the emulator tells.
//
// An input is a file, or, where it does not begin like one, a description's line and values: the file's lengths and digest are
// made around them, so that what lies behind the digest is reached too.
#include <cstring>
#include <map>
#include <vector>

#include <vostok/vostok.hpp>

#include "base/digest.hpp"
#include "fuzz/input.hpp"
#include "plan/packed_file.hpp"
#include "sparse/generate.hpp"

namespace vostok::fuzz {

namespace {

constexpr std::int64_t rows = 40, cols = 96, n = 8;
constexpr std::string_view file_mark = "VOSTOKPV";
constexpr std::uint32_t file_version = 1;

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
  Context context = Context({.device = "emulator", .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});
  Topology topology = context.topology(sparse::uniform(rows, cols, 0.5, 17).view());
  std::map<std::string, SpmmPlan> plans;  ///< by the format that they read

  Readers() {
    for (const auto& [name, element] : families) {
      const Spmm problem{.n = name == std::string_view("sparse_vector") ? 1 : n, .element = element, .value_lifetime = ValueLifetime::persistent};
      const SpmmPlan plan = context.plan(problem, topology, {.effort = Effort::heuristic, .family = name});
      plans.emplace(plan.packed_format(), plan);
    }
  }

  void execute(const PackedValues& packed) const {
    const auto plan = plans.find(packed.format());
    if (plan == plans.end() || packed.bytes() != plan->second.packed_bytes()) return;
    const std::vector<float> dense(static_cast<std::size_t>(cols * n), 1.0F);
    std::vector<float> output(static_cast<std::size_t>(rows * n));
    const Workspace workspace = plan->second.make_workspace();
    plan->second.execute(nullptr, {.packed = packed, .dense = dense.data(), .output = output.data(), .workspace = workspace});
  }
};

void append(std::string& file, const void* bytes, std::size_t count) { file.append(static_cast<const char*>(bytes), count); }

/// As PackedValues::save lays it out.
std::string file_around(std::string_view input) {
  const std::size_t line = input.find('\n');
  const std::string_view description = input.substr(0, line);
  const std::string_view values = line == std::string_view::npos ? std::string_view() : input.substr(line + 1);
  const auto description_bytes = static_cast<std::uint32_t>(description.size());
  const std::uint64_t value_bytes = values.size();
  std::string file(file_mark);
  append(file, &file_version, sizeof file_version);
  append(file, &description_bytes, sizeof description_bytes);
  append(file, &value_bytes, sizeof value_bytes);
  file += Digest().add(std::int64_t{file_version}).add(description).add(values).hex();
  return file.append(description).append(values);
}

}  // namespace

void read_input(std::string_view bytes) {
  static const Readers readers;
  const std::string file = bytes.starts_with(file_mark) ? std::string(bytes) : file_around(bytes);
  PackedValues packed;
  if (takes([&] { packed = plan::load_packed(readers.topology, std::as_bytes(std::span(file)), "an input"); })) readers.execute(packed);
}

}  // namespace vostok::fuzz
