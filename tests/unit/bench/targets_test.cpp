#include <doctest/doctest.h>

#include <string>

#include "bench/harness/regret.hpp"
#include "bench/harness/spmm_sets.hpp"
#include "bench/harness/targets.hpp"

namespace vostok::bench {
namespace {

/// Against "peer", 1 and 20 us.
std::vector<Outcome> some() {
  return {{.label = "short",
           .n = 8,
           .sparsity = 0.502,
           .family = "a",
           .ours_us = 2,
           .rivals = {{.name = "peer", .us = 1}},
           .heuristic_us = 2},
          {.label = "long",
           .n = 64,
           .sparsity = 0.9,
           .row_variation = 1,
           .family = "b",
           .ours_us = 10,
           .rivals = {{.name = "peer", .us = 20}},
           .packing_us = 40,
           .heuristic_us = 12.1}};
}

Target against_peer(double floor, double stretch, const Subset& where = {}, bool each = false) {
  return {.of = "all", .other = "peer", .where = where, .floor = floor, .stretch = stretch, .each = each};
}

TEST_CASE("a ratio meets its floor and its stretch by the geometric mean") {
  const auto reached = reach(against_peer(1.0, 1.1), some());
  REQUIRE(reached);
  CHECK(reached->problems == 2);
  CHECK(reached->value == doctest::Approx(1));
  CHECK(reached->meets_floor);
  CHECK_FALSE(reached->meets_stretch);
  CHECK(reached->worst == "short");
  CHECK(reached->each == 0.5);
}

TEST_CASE("problems are chosen by their n, sparsity, row lengths and the time of the other") {
  const auto problems = [](const Subset& where) {
    const auto reached = reach(against_peer(1, 1, where), some());
    return reached ? reached->worst + (reached->problems == 2 ? ", both" : "") : "none";
  };
  CHECK(problems({}) == "short, both");
  CHECK(problems({.least_n = 9}) == "long");
  CHECK(problems({.most_n = 8}) == "short");
  CHECK(problems({.least_sparsity = 0.5, .most_sparsity = 0.5}) == "short");
  CHECK(problems({.least_sparsity = 0.6}) == "long");
  CHECK(problems({.least_row_variation = 0.8}) == "long");
  CHECK(problems({.least_us = 4}) == "long");
  CHECK(problems({.least_us = 4, .timed = "nobody"}) == "none");
}

TEST_CASE("each problem alone may be 3 % slower, or 0.3 us where the other is short") {
  const auto with = [](double ours_us, double other_us) {
    const std::vector<Outcome> one = {
        {.label = "one", .ours_us = ours_us, .rivals = {{.name = "peer", .us = other_us}}}};
    return reach(against_peer(0.5, 0.5, {}, true), one)->meets_floor;
  };
  CHECK(with(3.25, 3.0));
  CHECK_FALSE(with(3.35, 3.0));
  CHECK(with(10.2, 10.0));
  CHECK_FALSE(with(10.5, 10.0));
  CHECK_FALSE(reach(against_peer(0.5, 0.5, {}, true), some())->meets_floor);
}

TEST_CASE("the smallest ratio and the longest time count where each problem must hold") {
  CHECK(reach({.measure = Measure::least_ratio, .other = "peer", .floor = 0.6}, some())->value == 0.5);
  const auto time = reach({.measure = Measure::time_us, .floor = 10, .stretch = 9.9}, some());
  CHECK(time->value == 10);
  CHECK(time->meets_floor);
  CHECK_FALSE(time->meets_stretch);
}

TEST_CASE("a packing counts in calls of its problem, and the heuristic against the better of both") {
  CHECK(reach({.measure = Measure::pack_calls, .floor = 3}, some())->value == doctest::Approx(4));
  const auto regret = reach({.measure = Measure::regret, .floor = most_regret}, some());
  CHECK(regret->value == doctest::Approx(1.1));
  CHECK(regret->meets_floor);
  const Json json = regret_json(some());
  CHECK(json["all"]["problems"] == 2);
  CHECK(json["b"]["geomean"].get<double>() == doctest::Approx(1.21));
  CHECK(regret_text(some()).find("| b | 1 | 1.210 | 1.210 | long |") != std::string::npos);
  std::vector<Outcome> better = some();
  better[1].heuristic_us = 8;
  CHECK(reach({.measure = Measure::regret}, better)->worst_value == 1);
}

TEST_CASE("a target that no problem can answer is neither met nor missed") {
  const std::vector<Target> targets = {{.of = "all", .other = "nobody", .floor = 2.0},
                                       {.of = "all", .measure = Measure::time_us, .stretch = 20}};
  const Json list = targets_json(targets, some());
  CHECK(list[0]["meets_floor"].is_null());
  CHECK(list[0]["reached"].is_null());
  CHECK(list[1]["meets_floor"].is_null());
  CHECK(list[1]["meets_stretch"] == true);
  CHECK(targets_text(targets, some()).find("target: all: nobody over ours: no problem of it was measured") !=
        std::string::npos);
  CHECK(targets_text(targets, some()).find("10.000, stretch 20 us met") != std::string::npos);
}

TEST_CASE("every set has problems of its own, or is the list's, and targets that its problems can answer") {
  for (const SpmmSet& set : spmm_sets()) {
    CAPTURE(set.name);
    CHECK(&find_spmm_set(set.name) == &set);
    for (const Target& target : set.targets({.element = set.element})) {
      CAPTURE(target.of);
      std::vector<Outcome> outcomes;
      for (const Problem& problem : set.problems)
        outcomes.push_back({.n = problem.n,
                            .sparsity = problem.generated ? problem.generated->sparsity : 0,
                            .family = "f",
                            .ours_us = 1,
                            .rivals = {{.name = target.other, .us = 9}},
                            .packing_us = 1,
                            .heuristic_us = 1});
      CHECK((set.problems.empty() || reach(target, outcomes)));
      CHECK((target.floor || target.stretch));
    }
  }
  CHECK_THROWS_WITH_AS(
      find_spmm_set("none"),
      doctest::Contains("dlmc, llm, llm_tokens, llm_wide, crossover, attention, rnn, row_variation, power_law"), Error);
}

TEST_CASE("the sets of generated masks are named as the baselines name them") {
  const auto first = [](const char* set) { return label(find_spmm_set(set).problems.front()); };
  CHECK(first("llm") == "llm/0.900/8192x8192/cov=0.10 n=32");
  CHECK(first("rnn") == "rnn/0.700/1024x1024 n=32");
  CHECK(first("crossover") == "crossover/0.000/8192x2048 n=128");
  CHECK(first("row_variation") == "row_variation/0.750/8192x2048 n=128");
  CHECK(find_spmm_set("rnn").problems.size() == 72);
  CHECK(find_spmm_set("llm_tokens").problems.size() == 28);
}

TEST_CASE("made problems can be divided by a number, and say so") {
  const auto divided = select(find_spmm_set("row_variation").problems, {.skip = 4, .most = 1, .shrink = 64}, "a set");
  REQUIRE(divided.size() == 1);
  CHECK(label(divided[0]) == "row_variation/0.750/8192x2048/cov=1.00/divided by 64 n=2");
  CHECK(divided[0].generated->rows == 128);
  CHECK(divided[0].generated->cols == 32);
  const auto listed = select({{.file = "a.smtx", .n = 64}}, {.shrink = 64}, "a list");
  CHECK(label(listed[0]) == "a.smtx n=64");
}

}  // namespace
}  // namespace vostok::bench
