#include <doctest/doctest.h>

#include <string>

#include "bench/harness/targets.hpp"

namespace vostok::bench {
namespace {

Comparisons some() {
  Comparisons comparisons;
  comparisons.add("peer", "all", {.label = "short", .ours_us = 2, .other_us = 1});
  comparisons.add("peer", "all", {.label = "long", .ours_us = 10, .other_us = 20});
  return comparisons;
}

TEST_CASE("a target is met by its geomean and its share together") {
  const Comparisons comparisons = some();
  const Json list = targets_json(
      {{.other = "peer", .geomean = 1.0}, {.other = "peer", .geomean = 1.0, .share = 0.9}, {.other = "peer", .geomean = 1.1}}, comparisons);
  CHECK(list[0]["met"] == true);
  CHECK(list[1]["met"] == false);
  CHECK(list[2]["met"] == false);
  CHECK(list[1]["reached"]["share"] == 0.5);
  CHECK(targets_text({{.other = "peer", .geomean = 1.1}}, comparisons).find("NOT met, 1.000x and 50.0 % of 2 problems, worst 0.500x (short)") !=
        std::string::npos);
}

TEST_CASE("a target for long problems leaves the short ones out") {
  const Json list = targets_json({{.other = "peer", .least_us = 4, .geomean = 2.0}}, some());
  CHECK(list[0]["reached"]["problems"] == 1);
  CHECK(list[0]["met"] == true);
}

TEST_CASE("a target against a peer without times is neither met nor missed") {
  const std::vector<Target> targets = {{.other = "nobody", .geomean = 2.0}};
  CHECK(targets_json(targets, some())[0]["met"].is_null());
  CHECK(targets_text(targets, some()).find("no problem has its time") != std::string::npos);
}

}  // namespace
}  // namespace vostok::bench
