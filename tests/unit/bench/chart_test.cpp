#include <doctest/doctest.h>

#include <cmath>

#include "base/text.hpp"
#include "bench/harness/chart.hpp"

namespace vostok::bench {
namespace {

TEST_CASE("ticks are round and cover the values") {
  CHECK(ticks(3, 97, false) == std::vector<double>{0, 20, 40, 60, 80, 100});
  CHECK(ticks(0, 1, false).back() == doctest::Approx(1));
  CHECK(ticks(5, 5, false).size() > 1);
  CHECK(ticks(3, 70, true) == std::vector<double>{2, 5, 10, 20, 50, 100});
  CHECK(ticks(1, 1, true) == std::vector<double>{1, 2});
  CHECK(ticks(32, 128, true).front() <= 32);
}

TEST_CASE("a chart has its title, labels, legend and a point for each value that can be shown") {
  const Chart chart{.title = "a < b & c",
                    .note = "on a GPU",
                    .x = {.label = "zeros (%)"},
                    .y = {.label = "time (us)", .logarithmic = true},
                    .series = {{.name = "ours", .points = {{50, 10}, {90, 5}, {95, 0}, {99, NAN}}},
                               {.name = "points", .points = {{60, 100}}, .joined = false}}};
  const std::string svg = to_svg(chart);
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (std::size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("a &lt; b &amp; c") == 1);
  CHECK(count("zeros (%)") == 1);
  CHECK(count("time (us)") == 1);
  CHECK(count(">ours<") == 1);
  CHECK(count("<circle") == 3);
  CHECK(count("<polyline") == 1);
  CHECK(count("nan") == 0);
  CHECK(count("inf") == 0);
}

TEST_CASE("a chart without a point is an error that names it") {
  CHECK_THROWS_WITH_AS(
      to_svg({.title = "empty", .y = {.logarithmic = true}, .series = {{.name = "a", .points = {{1, 0}}}}}),
      doctest::Contains("empty"), Error);
}

}  // namespace
}  // namespace vostok::bench
