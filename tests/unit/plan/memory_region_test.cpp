#include "plan/memory_region.hpp"

#include <doctest/doctest.h>

#include <set>

#include "sparse/generate.hpp"

using namespace vostok;
using plan::array_region;
using plan::matrix_region;
using plan::Region;
using plan::share_bytes;

namespace {

/// Every byte of a region that starts there.
std::set<std::int64_t> bytes_of(const Region& region, std::int64_t start) {
  std::set<std::int64_t> bytes;
  if (region.lines() == 0) return bytes;
  for (std::int64_t i = 0; i < region.outer; ++i)
    for (std::int64_t j = 0; j < region.inner; ++j)
      for (std::int64_t k = 0; k < region.length; ++k)
        bytes.insert(start + i * region.outer_step + j * region.inner_step + k);
  return bytes;
}

bool share_any(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::int64_t byte) { return b.contains(byte); });
}

/// Matrices that lie behind one another or side by side, of one or several lines.
Region random_region(sparse::Random& random) {
  const std::int64_t batch = 1 + random.below(3), rows = random.below(4), columns = 1 + random.below(4);
  std::int64_t leading = columns + random.below(6), stride = 0;
  if (random.below(3) == 0) {  // side by side
    stride = columns + random.below(2);
    leading = batch * stride + random.below(3);
  } else {
    stride = rows * leading + random.below(4);
  }
  const Dtype type = random.below(2) == 0 ? Dtype::f32 : Dtype::f16;
  if (random.below(4) == 0) return array_region(columns, type, batch, columns + random.below(5));
  return matrix_region({.lines = rows, .length = columns, .leading = leading, .stride = stride}, type, batch);
}

}  // namespace

TEST_CASE("two regions share a byte where one of their bytes is the same, at every distance") {
  constexpr std::uint64_t seed = 5;
  INFO("seed " << seed);
  sparse::Random random(seed);
  std::int64_t shared = 0, apart = 0;
  for (int pair = 0; pair < 400; ++pair) {
    const Region a = random_region(random);
    const Region b = random.below(3) == 0 ? a : random_region(random);
    const std::set<std::int64_t> bytes_of_a = bytes_of(a, 0);
    for (std::int64_t distance = -b.bytes() - 2; distance <= a.bytes() + 2; distance += 1 + random.below(3)) {
      const bool expected = share_any(bytes_of_a, bytes_of(b, distance));
      ++(expected ? shared : apart);
      if (share_bytes(a, b, distance) != expected || share_bytes(b, a, -distance) != expected) {
        CAPTURE(distance);
        FAIL("lines ", a.outer, "x", a.inner, " of ", a.length, " by ", a.outer_step, " and ", a.inner_step,
             " against ", b.outer, "x", b.inner, " of ", b.length, " by ", b.outer_step, " and ", b.inner_step,
             ": expected ", expected);
      }
    }
  }
  CHECK(shared > 1000);
  CHECK(apart > 1000);
}

TEST_CASE("slices of one array are apart, however large it is") {
  // [tokens, 3, heads, size] of queries, keys and values.
  const std::int64_t tokens = 1 << 20, heads = 64, size = 128;
  const Region slice =
      matrix_region({.lines = tokens, .length = size, .leading = 3 * heads * size, .stride = size}, Dtype::f16, heads);
  const std::int64_t next = heads * size * 2;
  CHECK_FALSE(share_bytes(slice, slice, next));
  CHECK_FALSE(share_bytes(slice, slice, 2 * next));
  CHECK_FALSE(share_bytes(slice, slice, -next));
  CHECK(share_bytes(slice, slice, 0));
  CHECK(share_bytes(slice, slice, next - 1));
  CHECK(share_bytes(slice, slice, 3 * next));
}

TEST_CASE("a region without elements shares nothing") {
  const Region none = matrix_region({.lines = 0, .length = 4, .leading = 4, .stride = 0}, Dtype::f32, 3);
  CHECK(none.bytes() == 0);
  CHECK_FALSE(share_bytes(none, plan::plain_region(100), 0));
  CHECK_FALSE(share_bytes(plan::plain_region(100), none, 10));
}
