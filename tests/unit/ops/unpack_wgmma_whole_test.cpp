// Whole strips of unpack_wgmma, whose zeros tensor cores read: rules, formats, and where they are expected to pay.
#include <doctest/doctest.h>

#include <algorithm>

#include "contains.hpp"
#include "ops/families.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "ops/topology/packed_strips.hpp"
#include "unit/ops/spmm_queries.hpp"

using namespace vostok;
using test::contains;
using test::query_of;
using test::statistics_of;

namespace {

const ops::Family& family() {
  static const auto made = ops::make_unpack_wgmma();
  return *made;
}

Spmm once(std::int64_t n, Dtype element = Dtype::f32) {
  return {.n = n, .element = element, .value_lifetime = ValueLifetime::persistent};
}

PackedGrain grain_of(const Spmm& problem, const TopologyStatistics& statistics) {
  return ops::unpack_wgmma::default_config(query_of(problem, statistics)).grain;
}

}  // namespace

TEST_CASE("whole strips are expected to pay where tiles are multiplied often, and not where weights come from memory") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16, Dtype::f32})
    for (const double density : {0.5, 0.3}) {
      CHECK(grain_of(once(256, element), statistics_of(512, 512, density)) == PackedGrain::whole);
      CHECK(grain_of(once(2048, element), statistics_of(2048, 512, density)) == PackedGrain::whole);
    }
  const Spmm cold = once(64, Dtype::f16);
  auto query = query_of(cold, statistics_of(8192, 8192, 0.1));
  query.policy = Policy::cold;
  CHECK(ops::unpack_wgmma::default_config(query).grain == PackedGrain::pair);
}

TEST_CASE("whole strips have rules of their own, and a format's name") {
  const ops::SpmmQuery query = query_of(once(256, Dtype::f16), statistics_of(512, 512, 0.5));
  UnpackWgmmaConfig config = ops::unpack_wgmma::default_config(query);
  REQUIRE(config.grain == PackedGrain::whole);
  CHECK(config.overlap);
  CHECK(config.promotion_blocks == 0);
  CHECK(family().packed_format(query, ops::Config::of(config)) == "strip16x64/whole/f16x1");
  CHECK(family().needs(query, ops::Config::of(config)).packed_strips == PackedGrain::whole);

  UnpackWgmmaConfig in_turn = config;
  in_turn.overlap = false;
  CHECK(contains(ops::unpack_wgmma::forbidden(query, in_turn).value_or(""), "whole strips overlap"));
  UnpackWgmmaConfig narrow = config;
  narrow.strip_pairs = 256;
  CHECK(contains(ops::unpack_wgmma::forbidden(query, narrow).value_or(""), "room for all of their pairs"));
  UnpackWgmmaConfig keeping = config;
  keeping.persistent = true;
  keeping.kept_blocks = 8;
  keeping.k_split = 1;
  keeping.cluster_sums = false;
  CHECK(ops::unpack_wgmma::forbidden(query, keeping));
}

TEST_CASE("a stage beside whole strips has 2 KB for each strip and term") {
  UnpackWgmmaConfig config{.mode = PackedMode::f16x3,
                           .grain = PackedGrain::whole,
                           .warpgroups = 2,
                           .tile_columns = 64,
                           .stages = 3,
                           .overlap = false};
  CHECK(shared_bytes(UnpackWgmmaTraits{}, config) == 3 * (16384 + 256 + 8 * 2 * 2048 + 16));
  config.mode = PackedMode::f16_scaled;
  CHECK(strip_stage_bytes(config) == 8 * 2048);
  CHECK(whole_warpgroup_bytes(config) == 8192);
}

TEST_CASE("whole strips are declined where nearly all of them would be zeros") {
  const TopologyStatistics graph{.rows = 1 << 16, .cols = 1 << 16, .nonzeros = 20'000'000, .longest_row = 1000};
  CHECK_FALSE(ops::packed_strips_declined(graph));
  CHECK(contains(ops::packed_strips_declined(graph, PackedGrain::whole).value_or(""), "bytes of strips"));
  for (const UnpackWgmmaConfig& config : ops::unpack_wgmma::short_list(query_of(once(128), graph)))
    CHECK(config.grain != PackedGrain::whole);
}
