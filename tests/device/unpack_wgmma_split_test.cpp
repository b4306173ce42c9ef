// Blocks of unpack_wgmma that split an f32 B themselves, on every GPU of sm_90: what other tests of the family do not
// ask for.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "device/unpack_wgmma_checks.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test::wgmma;
using test::UnpackCase;

TEST_CASE("unpack_wgmma: blocks split a B of a batch, of either layout, with lines further apart than long") {
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const int columns : {32, 64, 128})
      for (const bool side_by_side : {false, true})
        for (const int warpgroups : {1, 2}) {
          constexpr std::int64_t cols = 332;
          Spmm problem = problem_of(204);
          lay_apart(problem, layout, cols, side_by_side);
          UnpackWgmmaConfig config = plain(problem, columns);
          config.warpgroups = warpgroups;
          config.producer_warps = 4;
          check(UnpackCase(sparse::uniform(150, cols, 0.7, seed), problem, seed), config);
          problem.math = Math::tf32;
          config.mode = PackedMode::f16_scaled;
          check(UnpackCase(sparse::uniform(150, cols, 0.7, seed), problem, seed), config);
        }
}

TEST_CASE("unpack_wgmma: what blocks split is not finite in some columns, and the others keep their promise") {
  for (const PackedMode mode : {PackedMode::f16x3, PackedMode::bf16x3, PackedMode::f16_scaled})
    for (const float odd : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::max()}) {
      Spmm problem = problem_of(64);
      problem.nonfinite = NonFinite::dense;  // which sums are made again depends on who splits
      if (mode != PackedMode::f16x3) problem.math = Math::tf32;
      // Every element of A is there: what B has reaches every row.
      UnpackCase c(sparse::uniform(64, 192, 0.0, seed), problem, seed);
      c.host.dense[70 * 64 + 5] = odd;
      UnpackWgmmaConfig config = plain(problem, 64);
      config.mode = mode;
      config.stages = 4;
      for (const test::NamedDevice& on : hoppers()) {
        const test::UnpackRun prepared(*on.device, family(), c, ops::Config::of(config));
        prepared.enqueue();
        config.prepare_dense = false;
        for (const int producer_warps : {4, 8}) {
          config.producer_warps = producer_warps;
          const test::UnpackRun split(*on.device, family(), c, ops::Config::of(config));
          split.enqueue();
          const std::vector<float> wanted = prepared.output();
          const std::vector<float> found = split.output();
          for (std::size_t i = 0; i < wanted.size(); ++i) {
            const bool same = std::isfinite(wanted[i]) ? wanted[i] == found[i] : !std::isfinite(found[i]);
            if (!same) CHECK_MESSAGE(same, "element ", i, ": ", found[i], " for ", wanted[i]);
          }
          CHECK(std::isfinite(found[4]));
        }
        config.prepare_dense = true;
        config.producer_warps = 1;
      }
    }
}
