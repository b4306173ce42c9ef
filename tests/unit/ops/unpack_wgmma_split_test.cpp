// Where blocks of unpack_wgmma split what the copy engine brings, and where columns' scales stay meanwhile.
#include <abi/column_loss.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>

#include "contains.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "unit/fakes/fake_device.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::contains;
using test::query_of;
using test::statistics_of;

const TopologyStatistics few_rows = statistics_of(256, 1024, 0.2);

Spmm wide(Math math, Layout layout = Layout::row_major) {
  Spmm problem{.n = 50176, .value_lifetime = ValueLifetime::persistent};
  problem.math = math;
  problem.dense_layout = layout;
  problem.nonfinite = NonFinite::sparse;
  return problem;
}

/// A config whose eight warps split 128 columns, which keep their scales.
UnpackWgmmaConfig keeping() {
  return {.mode = PackedMode::f16_scaled,
          .tile_columns = 128,
          .overlap = false,
          .promotion_blocks = 0,
          .prepare_dense = false,
          .producer_warps = 8,
          .tensor_copies = true};
}

}  // namespace

TEST_CASE("columns keep their scales under tf32, of certified sums, where one warp splits a column") {
  test::FakeDevice device;
  const auto reason = [&](const Spmm& problem, const auto& change) {
    UnpackWgmmaConfig config = keeping();
    change(config);
    return ops::unpack_wgmma::forbidden(query_of(problem, few_rows, &device), config).value_or("");
  };
  const auto nothing = [](UnpackWgmmaConfig&) {};
  constexpr const char* rule = "scales that stay";
  CHECK(reason(wide(Math::tf32), nothing).empty());
  CHECK(contains(reason(wide(Math::tf32), [](UnpackWgmmaConfig& c) { c.producer_warps = 4; }), rule));
  CHECK(reason(wide(Math::tf32), [](UnpackWgmmaConfig& c) { c.producer_warps = 4, c.tile_columns = 64; }).empty());
  Spmm uncertified = wide(Math::tf32);
  uncertified.nonfinite = NonFinite::dense;
  CHECK(contains(reason(uncertified, nothing), rule));
  const auto two_terms = [](UnpackWgmmaConfig& c) { c.mode = PackedMode::f16x3, c.stages = 2; };
  CHECK(contains(reason(wide(Math::accurate), two_terms), rule));
  CHECK(contains(reason(wide(Math::tf32), [](UnpackWgmmaConfig& c) { c.tensor_copies = false; }), "promotion_blocks"));
  CHECK(contains(reason(wide(Math::tf32, Layout::column_major), nothing), "row-major"));
  CHECK(contains(reason(wide(Math::tf32), [](UnpackWgmmaConfig& c) { c.persistent = true, c.kept_blocks = 16; }),
                 "nobody splits"));
}

TEST_CASE("few rows by many columns: the default splits what the copy engine brings, and keeps scales under tf32") {
  test::FakeDevice device;
  const UnpackWgmmaConfig config = ops::unpack_wgmma::default_config(query_of(wide(Math::tf32), few_rows, &device));
  CHECK(copies_units(config));
  CHECK(keeps_scales(config));
  const auto keeps_where_it_may = [](const UnpackWgmmaConfig& c) {
    const bool may = terms(c) == 1 && packed_scales_rows(c.mode) && c.tile_columns == 16 * c.producer_warps;
    return !copies_units(c) || keeps_scales(c) == may;
  };
  for (const Math math : {Math::accurate, Math::tf32})
    CHECK(std::ranges::all_of(ops::unpack_wgmma::space(query_of(wide(math), few_rows, &device)), keeps_where_it_may));
  device.tensor_maps = false;
  CHECK(std::ranges::none_of(ops::unpack_wgmma::space(query_of(wide(Math::tf32), few_rows, &device)), copies_units));
}

TEST_CASE("a warp splits 32 columns at a time, or 16 that eight warps share or the copy engine brings") {
  const auto units = [](int tile_columns, int producer_warps, bool tensor_copies) {
    const UnpackWgmmaConfig c{.mode = PackedMode::f16x3,
                              .tile_columns = tile_columns,
                              .prepare_dense = false,
                              .producer_warps = producer_warps,
                              .tensor_copies = tensor_copies};
    return std::array{split_unit_columns(c), split_block_step(c)};
  };
  CHECK(units(32, 4, false) == std::array{32, 4});
  CHECK(units(32, 8, false) == std::array{16, 4});
  CHECK(units(64, 8, false) == std::array{32, 4});
  CHECK(units(128, 8, false) == std::array{32, 2});
  CHECK(units(128, 8, true) == std::array{16, 1});
  CHECK(units(32, 4, true) == std::array{16, 2});
}

TEST_CASE("a scale that stays brings the largest magnitude to 32 and more, below 64, and is the inverse's inverse") {
  for (const float largest : {0x1p-120F, 0x1.8p-20F, 1.0F, 3.0F, 0x1.fffffep+7F, 0x1p127F}) {
    const auto bits = std::bit_cast<unsigned>(largest);
    const unsigned inverse = kept_inverse_bits(bits);
    const auto scale = std::bit_cast<float>(scale_bits_of(inverse));
    CHECK(scale * std::bit_cast<float>(inverse) == 1.0F);
    CHECK(scale == std::bit_cast<float>(scale_bits_of(marked_scale_bits(inverse, 3))));
    if (largest < 0x1p-112F) {
      CHECK(scale == 0x1p118F);  // with an inverse that is normal
    } else {
      CHECK(scale * largest >= 32);
      CHECK(scale * largest < 64);
    }
  }
  CHECK(scale_bits_of(0) == std::bit_cast<unsigned>(1.0F));
}
