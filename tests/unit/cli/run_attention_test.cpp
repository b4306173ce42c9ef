#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

/// One for all cases: the kernels that several need are compiled once.
const Tool& shared_tool() {
  static const Tool tool;
  return tool;
}

const Arguments small = {"--random", "33x29x0.6", "--n", "8"};

TEST_CASE("attention: every option is verified, forward and backward") {
  check_verified(shared_tool(), "attention", small,
                 {{"--saved", "probabilities"},
                  {"--dtype", "f16", "--value-size", "5", "--alignment", "2", "--index", "i32"},
                  {"--dtype", "bf16", "--batch", "2", "--interleaved", "--math", "strict"},
                  {"--backward", "--saved", "row_statistics", "--batch", "2"},
                  {"--backward", "--dtype", "f16", "--saved", "probabilities", "--interleaved", "--batch", "2"},
                  {"--backward"}});
}

TEST_CASE("attention: degenerate masks are right: no queries, no keys, queries without keys, one key") {
  for (const char* random : {"0x5x0.5", "5x0x0.5", "5x7x1", "1x1x0"})
    check_verified(shared_tool(), "attention", {"--random", random, "--n", "4"}, {{}, {"--backward"}});
}

TEST_CASE("attention: --band makes the paper's mask, which is causal") {
  const auto object =
      json_of(shared_tool().run(on_emulator("attention", {"--band", "40x8x0.9", "--n", "8", "--json"})));
  CHECK(object["verified"] == true);
  CHECK(object["m"] == 40);
  CHECK(object["k"] == 40);
  CHECK(object["nonzeros"].get<int>() >= 40 * 8 - 28);
  CHECK(object["nonzeros"].get<int>() <= 40 * 41 / 2);
}

TEST_CASE("attention: the report tells each step's choice, and JSON lists them") {
  const Outcome text =
      shared_tool().run(on_emulator("attention", small + Arguments{"--batch", "2", "--interleaved", "--explain"}));
  CAPTURE(text.errors);
  CHECK(text.status == 0);
  for (const char* part : {"softmax(Q[33,8] K[29,8]^T / sqrt(8), at the mask) V[29,8], f32, batch 2",
                           "heads interleaved", "composed of 3 steps", "step 1          sddmm row_strips\n",
                           "step 2          softmax row_softmax\n", "step 3          spmm row_tile\n", "VERIFIED\n"}) {
    CAPTURE(std::string(part));
    CHECK(contains(text.output, part));
  }
  const auto object = json_of(
      shared_tool().run(on_emulator("attention", small + Arguments{"--backward", "--family", "composed", "--json"})));
  CHECK(object["family"] == "composed");
  CHECK(object["backward"] == true);
  CHECK(object["saved"] == "none");
  CHECK(object["steps"].size() == 7);
  CHECK(object["steps"][0]["operation"] == "sddmm");
  CHECK(object["steps"][6]["operation"] == "spmm");
  for (const auto& step : object["steps"]) CHECK_FALSE(step["family"].get<std::string>().empty());
}

TEST_CASE("attention: bad input is refused by name") {
  const auto refuse = [&](const Arguments& options, const std::vector<std::string>& parts) {
    check_refused(shared_tool().run(on_emulator("attention", Arguments{"--random", "8x8x0.5"} + options)), parts);
  };
  refuse({}, {"--n", "Try: vostok run attention --help"});
  refuse({"--n", "0"}, {"n = 0"});
  refuse({"--n", "4", "--value-size=-1"}, {"--value-size: -1 is less than 0"});
  check_refused(shared_tool().run(on_emulator("attention", {"--n", "4", "--band", "40x8"})),
                {"'40x8'", "4096x256x0.95"});
  check_refused(shared_tool().run(on_emulator("attention", {"--n", "4", "--band=-4x8x0.5"})), {"-4 rows"});
  check_refused(shared_tool().run(on_emulator("attention", {"--n", "4", "--band", "40x8x2"})), {"sparsity", "2"});
  refuse({"--n", "4", "--band", "40x8x0.9"}, {"--band", "--random"});
  refuse({"--n", "4", "--saved", "scores"}, {"'scores'", "none, probabilities, row_statistics"});
}

}  // namespace
}  // namespace vostok::cli::testing
