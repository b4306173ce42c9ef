#include "bench/harness/cubin.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "compile/nvrtc.hpp"
#include "error_code.hpp"

using namespace vostok;

namespace {

template <class T>
void put(std::string& bytes, std::size_t offset, T value) {
  if (bytes.size() < offset + sizeof(T)) bytes.resize(offset + sizeof(T));
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

/// Makes a file of these sections, by name and content. Their table lies behind them, and the last one holds the names.
std::string elf_of(std::vector<std::pair<std::string, std::string>> sections) {
  constexpr std::size_t header_bytes = 0x40, entry_bytes = 0x40;
  std::string names = "names";
  names += '\0';
  std::vector<std::size_t> name_offsets;
  for (const auto& [name, content] : sections) {
    name_offsets.push_back(names.size());
    names += name + '\0';
  }
  name_offsets.push_back(0);
  sections.emplace_back("names", names);
  std::string file(
      "\x7f"
      "ELF\x02");
  file.resize(header_bytes);
  std::vector<std::size_t> offsets;
  for (const auto& [name, content] : sections) {
    offsets.push_back(file.size());
    file += content;
  }
  const std::size_t table = file.size();
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::size_t entry = table + i * entry_bytes;
    file.resize(entry + entry_bytes);
    put(file, entry, static_cast<std::uint32_t>(name_offsets[i]));
    put(file, entry + 0x18, static_cast<std::uint64_t>(offsets[i]));
    put(file, entry + 0x20, static_cast<std::uint64_t>(sections[i].second.size()));
  }
  put(file, 0x28, static_cast<std::uint64_t>(table));
  put(file, 0x3a, static_cast<std::uint16_t>(entry_bytes));
  put(file, 0x3c, static_cast<std::uint16_t>(sections.size()));
  put(file, 0x3e, static_cast<std::uint16_t>(sections.size() - 1));
  return file;
}

/// Instructions of 16 bytes, by what their low half-word says.
std::string code_of(const std::vector<std::uint16_t>& instructions) {
  std::string code;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    put(code, 16 * i, instructions[i]);
    code.resize(16 * (i + 1));
  }
  return code;
}

constexpr std::uint16_t add = 0x7221, leave = 0x794d, nothing = 0x7918;

}  // namespace

TEST_CASE("instructions of kernels and of functions are counted, without the padding behind them and without data") {
  const std::string cubin = elf_of({{".nv.info.one", code_of({add, add, add})},
                                    {".text.one", code_of({add, add, leave, nothing, nothing})},
                                    {".text.called", code_of({add, leave, nothing})}});
  CHECK(bench::machine_instructions(cubin) == 5);
}

TEST_CASE("what is no cubin, has no code or is cut short is refused with a reason") {
  const std::string cubin = elf_of({{".text.one", code_of({add, leave})}});
  CHECK(bench::machine_instructions(cubin) == 2);
  for (const std::string& wrong : {std::string(), std::string(".version 9.0"), elf_of({{".data", "12345678"}}),
                                   cubin.substr(0, cubin.size() - 0x30), cubin.substr(0, 0x30)})
    CHECK(test::code_of([&] { bench::machine_instructions(wrong); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a kernel that NVRTC compiled has more instructions when it does more") {
  const auto nvrtc = test::nvrtc_for("instructions of a compiled kernel");
  if (!nvrtc) return;
  const auto instructions_with = [&](const std::string& statement) {
    const device::Source source{
        .family = "test",
        .text = fmt::format("template <int> __global__ void kernel(float* x) {{ x[threadIdx.x] *= 2; {} }}", statement),
        .expression = "kernel<0>",
        .architecture = "sm_90"};
    return bench::machine_instructions(nvrtc->compile(source).binary);
  };
  const std::int64_t few = instructions_with("");
  CHECK(few >= 5);
  CHECK(few < 16);
  CHECK(instructions_with("x[0] = sinf(x[1]);") > few + 10);
}
