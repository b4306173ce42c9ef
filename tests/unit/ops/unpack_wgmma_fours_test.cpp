// Where unpack_wgmma takes strips of grain four, and what it asks of them.
#include <doctest/doctest.h>

#include <vector>

#include "contains.hpp"
#include "ops/families.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;

namespace {

using test::contains;
using test::query_of;
using test::statistics_of;

const ops::Family& family() {
  static const auto made = ops::make_unpack_wgmma();
  return *made;
}

}  // namespace

TEST_CASE("unpack_wgmma takes fours where few nonzeros are, and where it does reads their packed strips") {
  const auto grain_of = [](const Spmm& problem, double density) {
    return ops::unpack_wgmma::default_config(query_of(problem, statistics_of(8192, 8192, density))).grain;
  };
  CHECK(grain_of({.n = 4096}, 0.1) == PackedGrain::four);
  CHECK(grain_of({.n = 4096}, 0.05) == PackedGrain::four);
  CHECK(grain_of({.n = 4096}, 0.3) == PackedGrain::whole);
  // Of 16 bits, whose limit are copies, they save bytes of A alone.
  CHECK(grain_of({.n = 4096, .element = Dtype::f16}, 0.12) == PackedGrain::pair);
  CHECK(grain_of({.n = 4096, .element = Dtype::f16}, 0.1) == PackedGrain::four);
  CHECK(grain_of({.n = 4096, .element = Dtype::f16}, 0.05) == PackedGrain::four);
  CHECK(grain_of({.n = 256, .element = Dtype::bf16}, 0.02) == PackedGrain::four);
  // What fours leave over is multiplied by B as it lies: from a column-major B at one element a line.
  const Layout columns = Layout::column_major;
  CHECK(grain_of({.n = 4096, .dense_layout = columns, .output_layout = columns}, 0.1) == PackedGrain::whole);
  CHECK(grain_of({.n = 4096, .dense_layout = columns, .output_layout = columns}, 0.01) == PackedGrain::four);
  // Of 16 bits rows are made of it before, where that is little beside the product.
  CHECK(grain_of({.n = 4096, .element = Dtype::f16, .dense_layout = columns}, 0.1) == PackedGrain::four);

  const ops::SpmmQuery query =
      query_of({.n = 4096, .value_lifetime = ValueLifetime::persistent}, statistics_of(8192, 8192, 0.1));
  UnpackWgmmaConfig config = ops::unpack_wgmma::default_config(query);
  CHECK(family().packed_format(query, ops::Config::of(config)) == "strip16x64/four/f16x3/marked");
  CHECK(family().needs(query, ops::Config::of(config)).packed_strips == PackedGrain::four);
  config.strip_pairs = 260;
  CHECK(contains(*ops::unpack_wgmma::forbidden(query, config), "256"));
  config.strip_pairs = 256;
  const TopologyStatistics wide = statistics_of(64, (std::int64_t{1} << 28) + 64, 0.1);
  CHECK(contains(*ops::unpack_wgmma::forbidden(query_of({.n = 128, .math = Math::tf32}, wide), config),
                 "packed strips of that grain"));
}

TEST_CASE("fours of 16 bits are tried where B is copied in rows, in blocks of two warpgroups at most") {
  const auto fours_of = [](const Spmm& problem, double density) {
    std::vector<UnpackWgmmaConfig> fours;
    for (const UnpackWgmmaConfig& c : ops::unpack_wgmma::space(query_of(problem, statistics_of(8192, 8192, density))))
      if (c.grain == PackedGrain::four) fours.push_back(c);
    return fours;
  };
  const std::vector<UnpackWgmmaConfig> fours = fours_of({.n = 1024, .element = Dtype::bf16}, 0.1);
  CHECK_FALSE(fours.empty());
  for (const UnpackWgmmaConfig& c : fours) {
    CHECK(c.warpgroups <= 2);
    CHECK(batches_left_over(c));
    CHECK(can_batch(UnpackWgmmaTraits{}, c));
    CHECK(c.kept_blocks == 0);
  }
  CHECK(fours_of({.n = 1024, .element = Dtype::bf16}, 0.12).empty());
  for (const UnpackWgmmaConfig& c :
       fours_of({.n = 1024, .element = Dtype::bf16, .dense_layout = Layout::column_major}, 0.1))
    CHECK(transposes_dense(c));
  for (const UnpackWgmmaConfig& c : fours_of({.n = 1024}, 0.1)) CHECK_FALSE(batches_left_over(c));
}

TEST_CASE(
    "fours of 16 bits take a row-major B by the copy engine, one group, and a warp beside it for each warpgroup") {
  const ops::SpmmQuery query = query_of({.n = 1024, .element = Dtype::f16}, statistics_of(512, 448, 0.1));
  const std::vector<UnpackWgmmaConfig> space = ops::unpack_wgmma::space(query);
  const auto fours = std::ranges::find_if(space, [&](const UnpackWgmmaConfig& c) {
    return c.grain == PackedGrain::four && c.warpgroups == 1 && !ops::unpack_wgmma::forbidden(query, c);
  });
  REQUIRE(fours != space.end());
  const auto reason = [&](const ops::SpmmQuery& of, const auto& change) {
    UnpackWgmmaConfig config = *fours;
    change(config);
    return ops::unpack_wgmma::forbidden(of, config).value_or("");
  };
  constexpr const char* rule = "16-bit pairs of four columns";
  CHECK(contains(reason(query, [](UnpackWgmmaConfig& c) { c.tensor_copies = false; }), rule));
  CHECK(contains(reason(query, [](UnpackWgmmaConfig& c) { c.k_groups = 2; }), rule));
  CHECK(contains(reason(query, [](UnpackWgmmaConfig& c) { c.producer_warps = 1; }), rule));
  CHECK(contains(reason(query, [](UnpackWgmmaConfig& c) { c.warpgroups = 4; }), rule));
  CHECK(contains(reason(query, [](UnpackWgmmaConfig& c) { c.tile_columns = 32; }), rule));
  const ops::SpmmQuery columns =
      query_of({.n = 1024, .element = Dtype::f16, .dense_layout = Layout::column_major}, statistics_of(512, 448, 0.1));
  CHECK(contains(reason(columns, [](UnpackWgmmaConfig&) {}), rule));
}
