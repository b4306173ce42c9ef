// Blocks of unpack_wgmma that split an f32 B themselves, on every GPU of sm_90: what other tests of the family do not
// ask for.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

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

TEST_CASE("unpack_wgmma: the copy engine brings what blocks split, tile after tile of more than fill a GPU") {
  int turn = 0;
  for (const PackedMode mode : {PackedMode::f16x3, PackedMode::f16_scaled, PackedMode::bf16x3})
    for (const int columns : {32, 64, 128})
      for (const int producer_warps : {4, 8})
        for (const std::int64_t cols : {60, 332}) {
          ++turn;
          Spmm problem = problem_of(columns * 12 + 20);
          if (mode != PackedMode::f16x3) problem.math = Math::tf32;
          problem.batch = turn % 4 == 3 ? 2 : 1;
          problem.output_layout = turn % 5 == 2 ? Layout::column_major : Layout::row_major;
          problem.epilogue = {.bias = static_cast<Bias>(turn % 3), .residual = turn % 2 == 0};
          UnpackWgmmaConfig config = plain(problem, columns);
          config.mode = mode;
          config.promotion_blocks = mode == PackedMode::bf16x3 ? 4 : 1;
          config.prepare_dense = false;
          config.producer_warps = producer_warps;
          config.tensor_copies = true;
          config.persistent = true;
          config.overlap = turn % 2 == 1;
          config.stages = columns == 128 ? 2 : std::max(4, split_block_step(config));
          config.strip_pairs = 256;
          if (mode == PackedMode::f16_scaled && columns == 16 * producer_warps) config.promotion_blocks = 0;
          config.warpgroups = producer_warps == 8 ? 1 : 1 + turn % 2;
          if (columns == 128) config.overlap = false;
          check_one(UnpackCase(sparse::uniform(1100, cols, 0.7, seed), problem, seed), config);
        }
}

TEST_CASE(
    "unpack_wgmma: columns whose scales stay grow past f16, begin with zeros, are tiny or all zeros, and keep their "
    "promise") {
  constexpr std::int64_t cols = 332;
  constexpr std::int64_t n = 300;
  // By column, what elements are multiplied with from the second k block on, and in the first.
  const auto factors = [](std::int64_t column) -> std::array<float, 2> {
    switch (column % 11) {
      case 1: return {0x1p9F, 1};
      case 2: return {0x1p13F, 1};
      case 3: return {1, 0};
      case 4: return {0x1p-90F, 0x1p-90F};
      case 5: return {0x1p90F, 0x1p90F};
      case 6: return {0, 0};
      case 7: return {0x1p-20F, 1};
      default: return {1, 1};
    }
  };
  for (const auto& [columns, producer_warps] : {std::pair{128, 8}, {64, 4}})
    for (const bool persistent : {false, true})
      for (const int k_split : {1, 2}) {
        if (persistent && k_split > 1) continue;
        Spmm problem = problem_of(n);
        problem.math = Math::tf32;
        problem.nonfinite = NonFinite::sparse;
        UnpackWgmmaConfig config = plain(problem, columns);
        config.mode = PackedMode::f16_scaled;
        config.promotion_blocks = 0;
        config.prepare_dense = false;
        config.producer_warps = producer_warps;
        config.tensor_copies = true;
        config.persistent = persistent;
        config.k_split = k_split;
        config.overlap = !persistent;
        config.strip_pairs = 256;
        UnpackCase c(sparse::uniform(150, cols, 0.7, seed), problem, seed);
        for (std::int64_t i = 0; i < cols * n; ++i) c.host.dense[i] *= factors(i % n)[i / n < 64];
        check_one(c, config);
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
        for (const auto& [producer_warps, tensor_copies] : {std::pair{4, false}, {8, false}, {4, true}, {8, true}}) {
          config.producer_warps = producer_warps;
          config.tensor_copies = tensor_copies;
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
        config.tensor_copies = false;
      }
    }
}
