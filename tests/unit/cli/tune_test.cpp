#include <doctest/doctest.h>

#include "cache/database.hpp"
#include "sparse/text_file.hpp"
#include "unit/cli/interrupted_tool.hpp"
#include "unit/cli/run_command.hpp"

namespace vostok::cli::testing {
namespace {

Arguments tune(const std::filesystem::path& file, const Arguments& more) {
  return Arguments{"tune", "--problems", file.string(), "--device", "emulator", "--effort", "quick", "--json"} + more;
}

TEST_CASE("tune keeps what an interrupt leaves, goes on from there, and then has nothing to measure") {
  const Tool tool;
  const auto file = tool.folder().write(
      "problems.txt",
      "bias --rows 3 --columns 40\nspmm --n 4 --leading 3 --random 8x8x0.5\nbias --rows 3 --columns 41\n");
  const Outcome stopped = interrupted_at(tool, tune(file, {}), "problem 1/3");
  CAPTURE(stopped.errors);
  CHECK(stopped.status == 130);
  const auto first = nlohmann::json::parse(stopped.output);
  CHECK(first["interrupted"] == true);
  CHECK(first["reached"] == 1);
  CHECK(first["results"][0]["choices"][0]["family"] == "bias_activation");

  const Outcome rest = tool.run(tune(file, {}));
  CAPTURE(rest.errors);
  CHECK(rest.status == 3);  // the second problem's sizes make no sense
  const auto second = nlohmann::json::parse(rest.output);
  CHECK(second["reached"] == 3);
  CHECK(second["failed"] == 1);
  CHECK(contains(second["results"][1]["error"].get<std::string>(), "dense_leading = 3"));
  CHECK(second["results"][2]["measured"].get<int>() > 1);
  CHECK(second["results"][2]["choices"][0]["provenance"] == "tuned_here");

  const auto again = nlohmann::json::parse(tool.run(tune(file, {})).output);
  CHECK(again["measured"] == 0);
  CHECK(again["results"][0]["compiled"] == 0);
  // A config that no run has tried, as a new version of the library has them.
  cache::Connection(tool.folder() / "cache" / "tuning.db", cache::Access::read_write, 5000)
      .execute(
          "DELETE FROM trial WHERE is_default = 0 AND config = (SELECT min(config) FROM trial WHERE is_default = 0)");
  const auto newer = nlohmann::json::parse(tool.run(tune(file, {})).output);
  CHECK(newer["measured"].get<int>() >= 1);
  const auto cold = nlohmann::json::parse(tool.run(tune(file, {"--policy", "cold", "--time-limit", "100"})).output);
  CHECK(cold["measured"].get<int>() > 1);
}

TEST_CASE(
    "tune exits with 3 where nothing of a problem could be measured, and with 0 where all of it was measured before") {
  const Tool tool;
  const auto file = tool.folder().write("problems.txt", "bias --rows 3 --columns 40\n");
  const Arguments to_compile_only = {"tune",     "--problems", file.string(), "--device", "compile:emulator",
                                     "--effort", "quick"};
  const Outcome elsewhere = tool.run(to_compile_only);
  CAPTURE(elsewhere.output);
  CHECK(elsewhere.status == 3);
  CHECK(contains(elsewhere.output, "not tuned: the context was opened to compile only"));
  CHECK(contains(elsewhere.output, ", 1 could not be tuned"));

  // What was tried above is not banned here.
  const Outcome tuned = tool.run(tune(file, {}));
  CHECK(tuned.status == 0);
  CHECK(nlohmann::json::parse(tuned.output)["measured"].get<int>() > 1);
  const Outcome again = tool.run(tune(file, {}));
  CHECK(again.status == 0);
  CHECK(nlohmann::json::parse(again.output)["measured"] == 0);
  CHECK(nlohmann::json::parse(again.output)["untuned"] == 0);

  cache::Connection(tool.folder() / "cache" / "tuning.db", cache::Access::read_write, 5000)
      .execute("UPDATE trial SET status = 'hung', median_us = NULL; DELETE FROM winner");
  const Outcome banned = tool.run(tune(file, {}));
  CAPTURE(banned.output);
  CHECK(banned.status == 3);
  CHECK(nlohmann::json::parse(banned.output)["untuned"] == 1);
}

TEST_CASE("tune refuses what measures nothing") {
  const Tool tool;
  const auto file = tool.folder().write("problems.txt", "bias --rows 3 --columns 40\n");
  const Arguments command = {"tune", "--problems", file.string()};
  check_refused(tool.run({"tune"}), {"--problems", "Try: vostok tune --help"});
  check_refused(tool.run(command + Arguments{"--effort", "cached"}), {"effort cached measures nothing"});
  check_refused(tool.run(command + Arguments{"--time-limit", "0"}), {"--time-limit: 0 is less than 0.001 seconds"});
  check_refused(tool.run({"tune", "--problems", (tool.folder() / "absent.txt").string()}), {"absent.txt"});
}

TEST_CASE(
    "capture runs a program, writes what it plans, and has its exit status; doctor then tells what that would "
    "compile") {
  const Tool tool;
  const auto file = tool.folder() / "captured.txt";
  const Arguments run = {VOSTOK_TOOL, "run", "softmax", "--random", "24x16x0.5", "--device", "emulator"};
  CHECK(tool.run(Arguments{"capture", "--out", file.string(), "--"} + run).status == 0);
  const std::string text = sparse::read_bytes(file);
  CHECK(text.starts_with("softmax --matrix captured.txt.matrices/"));
  CHECK(tool.run({"capture", "--out", file.string(), "--", "sh", "-c", "exit 7"}).status == 7);
  check_refused(tool.run({"capture", "--", "/no/such/program"}), {"/no/such/program"});
  check_refused(tool.run({"capture"}), {"COMMAND is required"});

  const Arguments doctor = {"doctor", "--problems", file.string(), "--device", "emulator", "--json"};
  const Outcome complete = tool.run(doctor);
  CAPTURE(complete.errors);
  CHECK(complete.status == 0);
  const auto known = nlohmann::json::parse(complete.output);
  CHECK(known["problems"][0]["plans_without_compiler"] == true);
  CHECK(known["problems"][0]["plans_from_cache_only"] == false);
  CHECK(known["problems"][0]["choices"][0]["kernels"][0]["stored"] == true);

  const Outcome lacking = tool.run(doctor + Arguments{"--cache", (tool.folder() / "empty").string()});
  CHECK(lacking.status == 3);
  const auto unknown = nlohmann::json::parse(lacking.output);
  CHECK(unknown["problems"][0]["plans_without_compiler"] == false);
  CHECK(unknown["problems"][0]["missing_kernels"].size() >= 1);
  CHECK(unknown["problems"][0]["missing_choices"].size() == 1);
}

}  // namespace
}  // namespace vostok::cli::testing
