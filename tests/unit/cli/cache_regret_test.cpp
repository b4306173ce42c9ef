#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cache/dump.hpp"
#include "cache/tuning_content.hpp"
#include "unit/cli/tool_process.hpp"

using namespace vostok;
using namespace vostok::cli::testing;

namespace {

const plan::DeviceKey h200{.uuid = "GPU-1",
                           .name = "NVIDIA H200",
                           .architecture = "sm_90",
                           .multiprocessors = 132,
                           .memory_bytes = 150'109'880'320,
                           .l2_bytes = 62'914'560};

/// A problem of n columns: the winner's tile and its time, the other tile and its time.
void add(cache::TuningContent& content, std::int64_t n, const char* winner, double winner_us, const char* other,
         double other_us) {
  const plan::ProblemKey problem{
      .operation = "spmm",
      .exact = "element=f32",
      .features = {.m = 1024, .k = 1024, .n = n, .nonzeros = 100'000, .longest_row = 120, .row_variation = 0.1}};
  const auto trial = [](const char* tile, double us, bool is_default) {
    return plan::TrialRecord{.family = "row_tile",
                             .config = {{"tile_rows", tile}},
                             .code_digest = tile,
                             .is_default = is_default,
                             .status = "measured",
                             .median_us = us,
                             .rounds = 15};
  };
  content.trials.push_back({problem, h200, trial(winner, winner_us, false)});
  content.trials.push_back({problem, h200, trial(other, other_us, true)});
  content.winners.push_back(
      {problem,
       h200,
       {.family = "row_tile", .config = {{"tile_rows", winner}}, .code_digest = winner, .median_us = winner_us}});
}

}  // namespace

TEST_CASE(
    "vostok cache regret tells from a tuning.db, and from its dump, what choices cost that are made without "
    "measuring") {
  const Tool tool;
  cache::TuningContent content;
  add(content, 64, "64", 10, "8", 16);
  add(content, 96, "8", 20, "64", 30);
  add(content, 65536, "1", 100, "2", 150);  // nobody's neighbour
  const std::string file = (tool.folder() / "tuned.db").string();
  cache::write_content(content, file);
  const std::string text = tool.folder().write("tuned.txt", cache::dump(std::filesystem::path(file))).string();
  for (const std::string& given : {file, text}) {
    CAPTURE(given);
    const Outcome outcome = tool.run({"cache", "regret", given, "--json"});
    CAPTURE(outcome.errors);
    REQUIRE(outcome.status == 0);
    const auto table = nlohmann::json::parse(outcome.output);
    CHECK(table["spmm"] == table["all"]);
    const auto& neighbour = table["spmm"]["neighbour"];
    CHECK(neighbour["problems"] == 2);
    CHECK(neighbour["absent"] == 1);
    CHECK(neighbour["geomean"].get<double>() == doctest::Approx(std::sqrt(1.6 * 1.5)));
    CHECK(neighbour["worst"].get<double>() == doctest::Approx(1.6));
    CHECK(table["spmm"]["default"]["problems"] == 3);
    CHECK(table["spmm"]["default"]["geomean"].get<double>() == doctest::Approx(std::cbrt(1.6 * 1.5 * 1.5)));
    // The cost model's choice has more fields than these configs.
    CHECK(table["spmm"]["heuristic"]["absent"] == 3);
    CHECK(table["spmm"]["heuristic"]["geomean"].is_null());
  }
  const Outcome cold = tool.run({"cache", "regret", file, "--policy", "cold", "--json"});
  CHECK(cold.status == 0);
  CHECK(nlohmann::json::parse(cold.output).empty());
  CHECK(contains(tool.run({"cache", "regret", file}).output, "neighbour"));
  CHECK(tool.run({"cache", "regret", (tool.folder() / "none.db").string()}).status == 2);
}
