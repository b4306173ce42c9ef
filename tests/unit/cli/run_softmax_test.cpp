#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

const Arguments small = {"--random", "33x29x0.6"};

TEST_CASE("softmax: every option is verified, forward and backward") {
  const Tool tool;
  check_verified(tool, "softmax", small,
                 {{},
                  {"--dtype", "f16", "--scale", "0.125", "--alignment", "2"},
                  {"--output-dtype", "bf16", "--statistics", "write", "--batch", "2"},
                  {"--device-scale", "2", "--statistics", "read"},
                  {"--backward"},
                  {"--backward", "--dtype", "bf16", "--output-dtype", "f32", "--scale", "0.5", "--batch", "3"}});
}

TEST_CASE("softmax: degenerate sizes are right: no rows, no columns, no nonzeros") {
  const Tool tool;
  for (const char* random : {"0x5x0.5", "5x0x0.5", "5x7x1", "1x1x0"})
    check_verified(tool, "softmax", {"--random", random}, {{}, {"--backward"}});
}

TEST_CASE("softmax: the report and JSON tell the problem") {
  const Tool tool;
  const Outcome text = tool.run(on_emulator("softmax", small + Arguments{"--scale", "0.5"}));
  CHECK(contains(text.output, "Y[33,29] = softmax(X[33,29]) over the nonzeros of each row, f32, scale 0.5"));
  CHECK(contains(text.output, "5 x nonzeros"));
  const auto object = json_of(tool.run(on_emulator("softmax", small + Arguments{"--backward", "--json"})));
  CHECK(object["backward"] == true);
  CHECK(object["m"] == 33);
  CHECK(object["dtype"] == "f32");
}

TEST_CASE("softmax: bad input is refused by name") {
  const Tool tool;
  const auto refuse = [&](const Arguments& options, const std::vector<std::string>& parts) {
    check_refused(tool.run(on_emulator("softmax", Arguments{"--random", "8x8x0.5"} + options)), parts);
  };
  refuse({"--backward", "--statistics", "write"}, {"--backward", "--statistics"});
  refuse({"--statistics", "keep"}, {"'keep'", "none, write, read"});
  refuse({"--batch=-2"}, {"--batch: -2 is less than 0"});
  refuse({"--alignment", "32"}, {"alignment_bytes = 32"});
  refuse({"--n", "4"}, {"--n"});
}

}  // namespace
}  // namespace vostok::cli::testing
