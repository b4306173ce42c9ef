#include "device/emulator/translation_unit.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/digest.hpp"
#include "base/immortal.hpp"
#include "base/text.hpp"

namespace vostok::device::emulator {
namespace {

/// Each file after those that it includes. entry.h comes last, after the kernel.
constexpr std::array<std::string_view, 6> shim_order = {"runtime.h", "keywords.h",    "vectors.h",
                                                        "math.h",    "synchronise.h", "atomics.h"};
constexpr std::string_view shim_entry = "entry.h";

std::string_view shim(std::string_view name) {
  for (const Header& file : embedded_shim())
    if (file.name == name) return file.text;
  fail(ErrorCode::internal, "cannot compile for the emulator: its shim has no {}", name);
}

/// Whether an include line is replaced by concatenating the files.
bool is_resolved(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line.starts_with("#pragma once") || line.starts_with("#include \"");
}

/// Appends `text` with replaced lines emptied, so that line numbers stay the same.
void append(std::string& unit, std::string_view name, std::string_view text) {
  unit += fmt::format("#line 1 \"{}\"\n", name);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view line = text.substr(0, end); !is_resolved(line)) unit += line;
    unit += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

const std::string& shim_digest() {
  static const auto& digest = immortal([] {
    Digest sum;
    for (const Header& file : embedded_shim()) sum.add(file.name).add(file.text);
    return sum.hex();
  });
  return digest;
}

std::string translation_unit(const Source& source) {
  std::string unit = "#define VOSTOK_EMULATOR 1\n";
  for (const std::string_view name : shim_order) append(unit, fmt::format("emulator/{}", name), shim(name));
  for (const Header& header : source.headers) append(unit, header.name, header.text);
  append(unit, source.family.empty() ? "kernel" : source.family, source.text);
  unit += fmt::format("#define VOSTOK_KERNEL {}\n", source.expression);
  append(unit, fmt::format("emulator/{}", shim_entry), shim(shim_entry));
  return unit;
}

}  // namespace vostok::device::emulator
