// unpack_wgmma where B stays in shared memory for all row tiles of its columns: rules, shared memory, and where it is
// expected to pay.
#include <doctest/doctest.h>

#include <algorithm>

#include "contains.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;
using test::contains;
using test::query_of;
using test::statistics_of;

namespace {

Spmm wide(Math math, std::int64_t n = 50176) {
  Spmm problem{.n = n, .value_lifetime = ValueLifetime::persistent};
  problem.math = math;
  problem.nonfinite = NonFinite::sparse;
  return problem;
}

UnpackWgmmaConfig keeping_dense() {
  return {.mode = PackedMode::f16_scaled,
          .grain = PackedGrain::whole,
          .tile_columns = 128,
          .stages = 4,
          .promotion_blocks = 0,
          .prepare_dense = false,
          .producer_warps = 8,
          .tensor_copies = true,
          .persistent = true,
          .dense_rooms = 4};
}

}  // namespace

TEST_CASE("B stays in rooms of persistent blocks that split it and read whole strips, for as many k blocks as it has") {
  const ops::SpmmQuery query = query_of(wide(Math::tf32), statistics_of(1024, 256, 0.2));
  const auto reason = [&](const auto& change) {
    UnpackWgmmaConfig config = keeping_dense();
    change(config);
    return ops::unpack_wgmma::forbidden(query, config).value_or("");
  };
  CHECK(reason([](UnpackWgmmaConfig&) {}).empty());
  CHECK(contains(reason([](UnpackWgmmaConfig& c) { c.dense_rooms = 3; }), "fewer than the k blocks"));
  CHECK(contains(reason([](UnpackWgmmaConfig& c) { c.persistent = false; }), "dense_rooms is"));
  CHECK(contains(reason([](UnpackWgmmaConfig& c) { c.dense_rooms = 17; }), "dense_rooms is"));
  CHECK(
      contains(reason([](UnpackWgmmaConfig& c) { c.grain = PackedGrain::pair, c.overlap = false; }), "dense_rooms is"));
  CHECK(contains(reason([](UnpackWgmmaConfig& c) { c.dense_rooms = 12; }), "shared memory"));
}

TEST_CASE("a block whose B stays has four more warps, and rings of strips for each warpgroup") {
  const UnpackWgmmaConfig config = keeping_dense();
  CHECK(threads(config) == 32 * (8 + 8 + 4));
  // Four stages of strips, four rooms of B with its scales, sixteen units on their way, and the barriers of all.
  const int units = 16 * (4096 + 8);
  CHECK(shared_bytes(UnpackWgmmaTraits{}, config) == 4 * 8 * 2048 + 4 * (16384 + 512) + units + 16 * (4 * 2 + 4));
  UnpackWgmmaConfig coming = config;
  coming.dense_rooms = 0;
  CHECK(threads(coming) == 32 * (8 + 8));
}

TEST_CASE("B is expected to stay where many columns have several row tiles and few k blocks, and only there") {
  const auto default_of = [&](const Spmm& problem, std::int64_t rows, std::int64_t cols) {
    return ops::unpack_wgmma::default_config(query_of(problem, statistics_of(rows, cols, 0.2)));
  };
  const auto may_stay = [&](const Spmm& problem, std::int64_t rows, std::int64_t cols) {
    const ops::SpmmQuery query = query_of(problem, statistics_of(rows, cols, 0.2));
    return std::ranges::any_of(ops::unpack_wgmma::space(query), [&](const UnpackWgmmaConfig& config) {
      return keeps_dense(config) && !ops::unpack_wgmma::forbidden(query, config);
    });
  };
  for (const Math math : {Math::accurate, Math::tf32}) {
    CHECK(keeps_dense(default_of(wide(math), 1024, 256)));
    CHECK(keeps_dense(default_of(wide(math, 200704), 512, 256)));
    CHECK_FALSE(may_stay(wide(math), 64, 256));          // one row tile
    CHECK_FALSE(may_stay(wide(math), 1024, 4096));       // too many k blocks
    CHECK_FALSE(may_stay(wide(math, 2048), 1024, 256));  // columns do not fill the device
  }
  const UnpackWgmmaConfig config = default_of(wide(Math::tf32), 1024, 256);
  CHECK(config.dense_rooms == 5);  // room for the first k block of the next columns
  CHECK(config.stages == 5);
}
