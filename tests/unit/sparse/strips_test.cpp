#include "sparse/strips.hpp"

#include <doctest/doctest.h>

#include "sparse/generate.hpp"

using namespace vostok;

TEST_CASE("strips hold every nonzero once and in order, never cross a row, and all but a row's last are full") {
  constexpr std::uint64_t seed = 11;
  INFO("seed " << seed);
  const sparse::Csr csr = sparse::power_law(200, 300, 4000, 0.8, seed);
  for (const int entries : {1, 4, 32, 64}) {
    std::int64_t next = 0;
    std::int64_t row_of_first = -1;
    int first = 0;
    const std::vector<Strip> table = sparse::strips(csr.row_offsets, entries);
    for (int i = 0; i < static_cast<int>(table.size()); ++i) {
      const Strip& strip = table[static_cast<std::size_t>(i)];
      if (strip.row != row_of_first) {
        row_of_first = strip.row;
        first = i;
      }
      const std::int64_t row_end = csr.row_offsets[static_cast<std::size_t>(strip.row) + 1];
      CHECK(strip.begin == next);
      CHECK(strip.first == first);
      CHECK(strip.begin == csr.row_offsets[static_cast<std::size_t>(strip.row)] + std::int64_t{entries} * (i - first));
      CHECK(strip.end == std::min<std::int64_t>(strip.begin + entries, row_end));
      next = strip.end;
    }
    CHECK(next == csr.nonzeros());
  }
}

TEST_CASE("a matrix without nonzeros has no strips") {
  const std::vector<std::int64_t> no_rows = {0};
  const std::vector<std::int64_t> empty_rows = {0, 0, 0};
  CHECK(sparse::strips(no_rows, 32).empty());
  CHECK(sparse::strips(empty_rows, 32).empty());
}
