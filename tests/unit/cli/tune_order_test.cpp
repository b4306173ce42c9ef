#include <doctest/doctest.h>

#include "cli/tuning.hpp"

namespace vostok::cli::testing {
namespace {

TEST_CASE("what is slow today is tuned first, each in the file's order, as far as there is time to look") {
  std::vector<ProblemLine> lines(5);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i].line = static_cast<int>(i) + 1;
  int looked_at = 0;
  const auto order = [&](int most) {
    looked_at = 0;
    const auto is_slow = [&](const ProblemLine& line) {
      ++looked_at;
      return line.line % 2 == 0;
    };
    std::vector<int> numbers;
    for (const ProblemLine* line : slow_first(lines, is_slow, [&] { return looked_at < most; }))
      numbers.push_back(static_cast<int>(line->line));
    return numbers;
  };
  CHECK(order(5) == std::vector{2, 4, 1, 3, 5});
  CHECK(order(3) == std::vector{2, 1, 3, 4, 5});
  CHECK(looked_at == 3);
  CHECK(order(0) == std::vector{1, 2, 3, 4, 5});
}

}  // namespace
}  // namespace vostok::cli::testing
