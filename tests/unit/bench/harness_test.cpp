#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/text.hpp"
#include "bench/harness/comparison.hpp"
#include "bench/harness/comparisons.hpp"
#include "bench/harness/entry.hpp"
#include "bench/harness/host_time.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/problems.hpp"
#include "bench/harness/progress.hpp"
#include "bench/harness/run_record.hpp"
#include "context_state.hpp"
#include "tune/spmm_case.hpp"

namespace vostok::bench {
namespace {

bool throws_naming(const std::function<void()>& call, const std::string& part) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()).find(part) != std::string::npos;
  }
  return false;
}

TEST_CASE("a problem list is a file and then one problem per N") {
  const auto problems = parse_problems("a/x.smtx 256 2048\n\n# a remark\nb.smtx 49\n");
  REQUIRE(problems.size() == 3);
  CHECK(label(problems[1]) == "a/x.smtx n=2048");
  CHECK(group(problems[0]) == "a");
  CHECK(group(problems[2]) == "all");
}

TEST_CASE("a problem list with a word for N, no N or an N of 0 is refused with its line") {
  CHECK(throws_naming([] { parse_problems("a.smtx 1\nb.smtx many\n"); }, "line 2"));
  CHECK(throws_naming([] { parse_problems("a.smtx\n"); }, "line 1"));
  CHECK(throws_naming([] { parse_problems("a.smtx 0\n"); }, "line 1"));
}

TEST_CASE("the made graphs have a million nonzeros each, and differ in vertices, skew and N") {
  const auto problems = power_law_problems();
  REQUIRE(problems.size() == 18);
  CHECK(label(problems[0]) == "power_law/16384/0.5 n=32");
  CHECK(group(problems[0]) == "power_law");
  const sparse::Csr graph = load_matrix({}, problems[0], 1);
  CHECK((graph.rows == 16384 && graph.cols == 16384 && graph.nonzeros() == 1'000'000));
}

TEST_CASE("ratios, shares and the worst problems are counted as named") {
  const Comparison comparison = compare({{.label = "faster", .ours_us = 5, .other_us = 20},
                                         {.label = "short and 0.2 slower", .ours_us = 2.2, .other_us = 2.0},
                                         {.label = "long and 0.2 slower", .ours_us = 10.2, .other_us = 10.0},
                                         {.label = "slower within noise",
                                          .ours_us = 10.5,
                                          .ours_spread_us = 0.3,
                                          .other_us = 10,
                                          .other_spread_us = 0.2}});
  CHECK(comparison.problems == 4);
  CHECK(comparison.at_least_as_fast == doctest::Approx(0.25));
  CHECK(comparison.with_allowance == doctest::Approx(0.5));
  CHECK(comparison.within_noise == doctest::Approx(0.5));
  CHECK(comparison.geomean == doctest::Approx(std::pow(4.0 * 2.0 / 2.2 * 10.0 / 10.2 * 10.0 / 10.5, 0.25)));
  CHECK(comparison.worst.front().label == "short and 0.2 slower");
  CHECK(comparison.worst.size() == 4);
}

TEST_CASE("at most ten of the worst are kept, and no problem at all compares as nothing") {
  std::vector<TimePair> pairs;
  for (int i = 1; i <= 25; ++i)
    pairs.push_back({.label = std::to_string(i), .ours_us = 1, .other_us = static_cast<double>(i)});
  const Comparison comparison = compare(pairs);
  REQUIRE(comparison.worst.size() == 10);
  CHECK(comparison.worst.back().label == "10");
  CHECK(compare({}).problems == 0);
  CHECK(compare({}).geomean == 1);
}

TEST_CASE("a comparison counts in its group and in all, once") {
  Comparisons comparisons;
  comparisons.add("peer", "transformer", {.label = "a", .ours_us = 1, .other_us = 2});
  comparisons.add("peer", "rn50", {.label = "b", .ours_us = 1, .other_us = 8});
  comparisons.add("peer", "all", {.label = "c", .ours_us = 1, .other_us = 4});
  const Json json = comparisons.to_json();
  CHECK(json["peer"]["groups"]["all"]["problems"] == 3);
  CHECK(json["peer"]["groups"]["all"]["geomean"].get<double>() == doctest::Approx(4));
  CHECK(json["peer"]["groups"]["rn50"]["geomean"].get<double>() == doctest::Approx(8));
  CHECK(json["peer"]["worst"][0]["problem"] == "a");
  CHECK(comparisons.table().find("| peer | transformer | 1 | 2.000x |") != std::string::npos);
}

TEST_CASE("a benchmark plans under its own policy: what is measured cold was tuned cold") {
  const Context context(Options{.device = "emulator", .cache = {.enabled = false}});
  Matrices matrices(context, "", 1);
  matrices.take({.file = "made", .n = 8, .generated = Generated{.rows = 32, .cols = 64, .sparsity = 0.8}});
  const auto hits_of_second_plan = [&](Policy first, Policy second) {
    ListOptions options;
    options.effort = Effort::cached;
    const std::int64_t before = context.counters().memo_hits;
    for (const Policy policy : {first, second}) {
      options.policy = policy;
      plan_problem<tune::SpmmCase>(context, context.state()->session->device(), options, matrices,
                                   Spmm{.n = first == second ? 8 : 16});
    }
    return context.counters().memo_hits - before;
  };
  CHECK(hits_of_second_plan(Policy::cold, Policy::cold) == 2);  // the plan and the heuristic's
  CHECK(hits_of_second_plan(Policy::warm, Policy::cold) == 0);
}

TEST_CASE("numbers that are not finite are null in JSON") {
  CHECK(number(std::nan("")).is_null());
  CHECK(number(std::numeric_limits<double>::infinity()).is_null());
  CHECK(number(std::optional<double>()).is_null());
  CHECK(number(1.23456789).dump() == "1.23457");
  CHECK(timed_json({.timing = {}, .failure = "why"}).dump() == R"({"failure":"why"})");
}

TEST_CASE("the driver's version is read out of its kernel module's line") {
  CHECK(parse_driver_version(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue Oct  7 01:02:03 UTC 2026") ==
        "580.159.04");
  CHECK(parse_driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.51  Release Build") ==
        "575.51");
  CHECK(parse_driver_version("").empty());
}

TEST_CASE("durations are read by people") {
  CHECK(duration_text(45.2) == "45 s");
  CHECK(duration_text(200) == "3 min 20 s");
}

TEST_CASE("every host call is made in every batch, drained before, and compared with the first") {
  int first = 0, second = 0, drains = 0;
  const HostTimes times = time_host_calls({{.name = "first", .batch = [&](int count) { first += count; }},
                                           {.name = "second", .batch = [&](int count) { second += count; }}},
                                          10, 5, [&] { ++drains; });
  CHECK(first == second);
  CHECK(first >= 50);
  CHECK(drains == first / 10 + second / 10 + 1);
  CHECK(times.calls.size() == 2);
  CHECK(times.above_first.front().median_ns == 0);
}

}  // namespace
}  // namespace vostok::bench
