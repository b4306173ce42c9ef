#include "bench/harness/slow_problems.hpp"

#include <doctest/doctest.h>

namespace vostok::bench {
namespace {

TEST_CASE("slow problems are told with their bounds, the slowest first") {
  SlowProblems slow;
  CHECK(slow.text(3).empty());
  CHECK(slow.to_json() == Json::array());
  slow.note("fine", 20, {.memory_us = 5, .dense_us = 8});
  slow.note("twice", 40, {.memory_us = 10, .dense_us = 15});
  slow.note("wide", 733, {.memory_us = 72, .dense_us = 103});
  const Json json = slow.to_json();
  REQUIRE(json.size() == 2);
  CHECK(json[0] == Json{{"problem", "wide"}, {"ours_us", 733.0}, {"memory_us", 72.0}, {"dense_us", 103.0}});
  CHECK(json[1]["problem"] == "twice");
  const std::string text = slow.text(3);
  CHECK(text.find("2 of 3 problems") != std::string::npos);
  CHECK(text.find("7.1x, 733.00 us (memory 72.00, dense 103.00): wide") < text.find("2.7x"));
}

}  // namespace
}  // namespace vostok::bench
