// One rule for the tuner and for whoever chooses again: what counts as equal, and which of equals is taken.
#include "tune/choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace vostok;
using tune::Result;
using tune::StoredCandidate;

namespace {

Result measured(std::size_t candidate, double median_us, double spread_us = 0, int rounds = 10) {
  Result result;
  result.candidate = candidate;
  result.status = "measured";
  result.median_us = median_us;
  result.spread_us = spread_us;
  result.rounds = rounds;
  return result;
}

StoredCandidate candidate(const std::string& family, const std::string& tile, bool is_default = false) {
  return {.family = family, .config = {{"tile", tile}}, .is_default = is_default};
}

/// In the fixed order: candidates 3, 1, 0, 2.
const std::vector<StoredCandidate> list = {candidate("b", "1"), candidate("a", "2"), candidate("b", "2"),
                                           candidate("c", "9", true)};

std::optional<std::size_t> chosen(const std::vector<Result>& results) {
  return tune::choose(results, [](std::size_t index) { return list[index]; });
}

}  // namespace

TEST_CASE("ties go to a default, then by family, then by config, wherever the candidates stand in the list") {
  CHECK(chosen({measured(0, 10.0), measured(1, 10.1), measured(2, 10.05), measured(3, 10.15)}) == 3);
  CHECK(chosen({measured(0, 10.0), measured(1, 10.1), measured(2, 10.05), measured(3, 10.3)}) == 1);
  CHECK(chosen({measured(0, 10.1), measured(2, 10.0)}) == 0);
  CHECK(chosen({measured(0, 10.3), measured(2, 10.0)}) == 2);
  CHECK(chosen({measured(0, 10.4), measured(2, 10.0, 0.5)}) == 0);  // within the best one's spread
  CHECK(!chosen({}));
}

TEST_CASE("the order of the results decides nothing, not even where the spread of equal ones differs") {
  std::vector<Result> results = {measured(0, 10.0, 0.1), measured(2, 10.0, 5.0), measured(3, 14.0)};
  std::minstd_rand random(3);  // NOLINT(cert-msc51-cpp): the same orders every time
  for (int i = 0; i < 8; ++i) {
    std::shuffle(results.begin(), results.end(), random);
    CHECK(chosen(results) == 0);
  }
}

TEST_CASE("a lucky screening sample does not beat a finalist") {
  CHECK(chosen({measured(0, 1.0, 0, 3), measured(1, 2.0, 0, 20)}) == 1);
}

TEST_CASE("the fastest default is the smallest median of defaults that were measured") {
  const auto is_default = [](const Result& result) {
    return list[result.candidate].is_default || result.candidate == 0;
  };
  Result unmeasured = measured(3, 0);
  unmeasured.median_us = std::nullopt;
  const std::vector<Result> results = {measured(1, 1), measured(0, 4), measured(3, 3), unmeasured};
  CHECK(tune::fastest_default(results, is_default, &Result::median_us) == 3);
  CHECK(!tune::fastest_default(std::vector{measured(1, 1), unmeasured}, is_default, &Result::median_us));
}
