#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

const Arguments small = {"--random", "33x29x0.6", "--n", "7"};

TEST_CASE("sddmm: every option is verified") {
  const Tool tool;
  check_verified(tool, "sddmm", small,
                 {{},
                  {"--dtype", "f16", "--scale", "-0.5"},
                  {"--dtype", "bf16", "--output-dtype", "f32", "--index", "i32", "--device-scale", "3"},
                  {"--lhs-layout", "column_major", "--lhs-leading", "37", "--math", "strict"},
                  {"--rhs-layout", "column_major", "--rhs-leading", "29", "--multiply"},
                  {"--accumulate", "--alignment", "4", "--batch", "3"}});
}

TEST_CASE("sddmm: degenerate sizes are right: no rows, no columns, no nonzeros, n = 0") {
  const Tool tool;
  for (const char* random : {"0x5x0.5", "5x0x0.5", "5x7x1", "1x1x0"})
    check_verified(tool, "sddmm", {"--random", random}, {{"--n", "0"}, {"--n", "3"}});
}

TEST_CASE("sddmm: the report and JSON tell the problem") {
  const Tool tool;
  const Arguments problem = on_emulator(
      "sddmm", Arguments(small) + Arguments{"--multiply", "--scale", "0.5", "--rhs-layout", "column_major"});
  const Outcome text = tool.run(problem);
  CHECK(contains(text.output,
                 "D[33,29] = (A[33,7] B[29,7]^T) o mask o C, f32, math accurate, B column_major, scale 0.5"));
  CHECK(contains(text.output, "2 x nonzeros x n"));
  const auto object = json_of(tool.run(problem + Arguments{"--json"}));
  CHECK(object["m"] == 33);
  CHECK(object["k"] == 29);
  CHECK(object["n"] == 7);
  CHECK(object["multiply"] == true);
  CHECK(object["accumulate"] == false);
  CHECK(object["rhs_layout"] == "column_major");
}

TEST_CASE("sddmm: bad input is refused by name") {
  const Tool tool;
  const auto refuse = [&](const Arguments& options, const std::vector<std::string>& parts) {
    check_refused(tool.run(on_emulator("sddmm", Arguments{"--random", "8x8x0.5"} + options)), parts);
  };
  refuse({}, {"--n", "Try: vostok run sddmm --help"});
  refuse({"--n=-1"}, {"--n: -1 is less than 0"});
  refuse({"--n", "4", "--scale", "1", "--device-scale", "1"}, {"--scale", "--device-scale"});
  refuse({"--n", "4", "--scale", "inf"}, {"--scale", "'inf' is not a finite number"});
  refuse({"--n", "4", "--scale", "1x"}, {"'1x' is not a finite number"});
  refuse({"--n", "4", "--dtype", "f16", "--output-dtype", "bf16"}, {"output = bf16"});
  refuse({"--n", "4", "--lhs-leading", "3"}, {"lhs_leading = 3"});
  check_refused(tool.run(on_emulator("sddmm", {"--n", "4"})), {"cannot run sddmm", "--matrix", "--random"});
}

}  // namespace
}  // namespace vostok::cli::testing
