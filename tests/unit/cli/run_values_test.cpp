// Runs on values that a file holds: those that are not finite, and those that a type has no room for.
#include <cstring>
#include <limits>

#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// A .npy file of [rows, values / rows].
std::string write_npy(const Tool& tool, const char* name, std::size_t rows, const std::vector<float>& values) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, values.size() / rows);
  header.resize(117, ' ');
  std::string data(values.size() * sizeof(float), '\0');
  std::memcpy(data.data(), values.data(), data.size());
  return tool.folder().write(name, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + data).string();
}

/// NaN, both infinities, a negative zero, and rows without any of them.
std::string write_not_finite(const Tool& tool) {
  return write_npy(tool, "not_finite.npy", 5,
                   {1, 0, -0.0F, not_a_number, 2, 3, 0, 0, infinity, 0, 5, 0, 0, -infinity, infinity, 1, 1, 2, 3, 4});
}

constexpr const char* counted = "4 of its 13 values are not finite (1 NaN, 3 infinite)";

void check_right(const Tool& tool, const Arguments& line) {
  std::string words;
  for (const std::string& word : line) words += " " + word;
  CAPTURE(words);
  const Outcome outcome = tool.run(line);
  CAPTURE(outcome.output);
  CAPTURE(outcome.errors);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.output, counted));
  CHECK(contains(outcome.output, "VERIFIED"));
}

TEST_CASE("NaN and infinity of the input are no wrong result of SpMM, in any type, way and family") {
  const Tool tool;
  const std::string matrix = write_not_finite(tool);
  for (const Arguments& options : {Arguments{},
                                   {"--dtype", "f16"},
                                   {"--dtype", "bf16"},
                                   {"--transpose"},
                                   {"--value-lifetime", "persistent"},
                                   {"--epilogue", "relu"},
                                   {"--epilogue", "bias_per_row,gelu", "--dtype", "f16"},
                                   {"--batch", "2", "--values-per-batch"},
                                   {"--family", "nonzero_split"},
                                   {"--family", "staged_rows"},
                                   {"--family", "unpack_mma"},
                                   {"--family", "unpack_mma", "--epilogue", "relu"},
                                   {"--family", "sparse_tensor_mma", "--dtype", "f16"}})
    check_right(tool, on_emulator("spmm", {"--matrix", matrix, "--n", "8"}) + options);
}

TEST_CASE("NaN and infinity of the input are no wrong result of softmax and its gradient") {
  const Tool tool;
  const std::string matrix = write_not_finite(tool);
  for (const Arguments& options : {Arguments{},
                                   {"--dtype", "f16"},
                                   {"--dtype", "bf16", "--batch", "2"},
                                   {"--statistics", "write"},
                                   {"--statistics", "read"},
                                   {"--backward"},
                                   {"--backward", "--dtype", "f16"},
                                   {"--scale", "-0.5"}})
    check_right(tool, on_emulator("softmax", {"--matrix", matrix}) + options);
}

TEST_CASE("a NaN with the bits of the outputs' poison is a NaN as any other") {
  const Tool tool;
  std::vector<float> values(8);
  std::memset(values.data(), 0xff, values.size() * sizeof(float));
  const std::string matrix = write_npy(tool, "poison.npy", 2, values);
  for (const char* type : {"f32", "f16", "bf16"}) {
    CAPTURE(std::string(type));
    CHECK(json_of(tool.run(
              on_emulator("spmm", {"--matrix", matrix, "--n", "3", "--dtype", type, "--json"})))["verified"] == true);
    CHECK(json_of(tool.run(on_emulator("softmax", {"--matrix", matrix, "--dtype", type, "--json"})))["verified"] ==
          true);
  }
}

TEST_CASE("values that become infinite in f16 are counted, with the largest, and only where they do") {
  const Tool tool;
  const std::string matrix = write_npy(tool, "large.npy", 3, {1, 70'000, 3, -80'000, 5, 6, 1e10F, 8, 9});
  for (const Arguments& line :
       {on_emulator("spmm", {"--matrix", matrix, "--n", "4"}), on_emulator("softmax", {"--matrix", matrix})}) {
    CHECK(contains(tool.run(line + Arguments{"--dtype", "f16"}).output,
                   "3 values exceed f16's range and become infinite (the largest is 1e+10)"));
    const auto narrow = json_of(tool.run(line + Arguments{"--dtype", "f16", "--json"}));
    CHECK(narrow["verified"] == true);
    CHECK(narrow["overflowing_values"] == 3);
    CHECK(narrow["nonfinite_values"] == 0);
    CHECK(narrow["notes"].size() == 1);
    for (const char* type : {"f32", "bf16"}) {
      const auto wide = json_of(tool.run(line + Arguments{"--dtype", type, "--json"}));
      CHECK(wide["overflowing_values"] == 0);
      CHECK_FALSE(wide.contains("notes"));
    }
  }
}

TEST_CASE("of a mask alone no values are told") {
  const Tool tool;
  const auto object =
      json_of(tool.run(on_emulator("sddmm", {"--matrix", write_not_finite(tool), "--n", "4", "--json"})));
  CHECK(object["verified"] == true);
  CHECK_FALSE(object.contains("nonfinite_values"));
  CHECK_FALSE(object.contains("notes"));
}

TEST_CASE("a row CoV that a random matrix cannot have is said, and one that it has is not") {
  const Tool tool;
  const auto of = [&](const char* random) { return on_emulator("spmm", {"--random", random, "--n", "1"}); };
  CHECK(contains(tool.run(of("30x30x0.5x3")).output, "note: its row CoV is 0.976, not 3:"));
  CHECK(json_of(tool.run(of("30x30x0.5x3") + Arguments{"--json"}))["notes"].size() == 1);
  CHECK_FALSE(contains(tool.run(of("100x160x0.9x0.7")).output, "note:"));
  CHECK_FALSE(contains(tool.run(of("30x30x0.5")).output, "note:"));
}

}  // namespace
}  // namespace vostok::cli::testing
