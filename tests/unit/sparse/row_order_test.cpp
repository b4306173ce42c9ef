#include "sparse/row_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "sparse/generate.hpp"

using namespace vostok::sparse;

namespace {

std::vector<std::int64_t> offsets_of(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::vector<std::int32_t> order_by_stable_sort(const std::vector<std::int64_t>& lengths) {
  std::vector<std::int32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return lengths[a] > lengths[b]; });
  return order;
}

}  // namespace

TEST_CASE("rows are ordered by length, longest first, ties in their own order") {
  CHECK(row_order(offsets_of({2, 5, 0, 5, 2})) == std::vector<std::int32_t>{1, 3, 0, 4, 2});
  CHECK(row_order(offsets_of({})).empty());
  CHECK(row_order(offsets_of({0, 0, 0})) == std::vector<std::int32_t>{0, 1, 2});
}

TEST_CASE("the row order is the stable sort's for lengths of any size") {
  for (const std::int64_t longest : {1L, 7L, 2047L, 2048L, 100'000L, 5'000'000'000L, std::int64_t{1} << 45}) {
    const auto seed = static_cast<std::uint64_t>(longest);
    INFO("seed ", seed);
    Random random(seed);
    std::vector<std::int64_t> lengths(1000);
    for (std::int64_t& length : lengths) length = random.below(longest + 1);
    lengths[random.below(1000)] = longest;
    CHECK(row_order(offsets_of(lengths)) == order_by_stable_sort(lengths));
  }
}

TEST_CASE("a million rows are ordered") {
  const Csr csr = power_law(1'000'000, 1'000'000, 3'000'000, 0.7, 5);
  const std::vector<std::int32_t> order = row_order(csr.row_offsets);
  const auto length = [&](std::int32_t row) { return csr.row_offsets[row + 1L] - csr.row_offsets[row]; };
  REQUIRE(order.size() == 1'000'000);
  CHECK(std::is_sorted(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return length(a) > length(b) || (length(a) == length(b) && a < b);
  }));
}
