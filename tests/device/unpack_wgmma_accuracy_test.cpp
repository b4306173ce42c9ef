// What sums of unpack_wgmma keep, on every GPU of sm_90: long ones, of one sign, and of magnitudes far apart.
#include <doctest/doctest.h>

#include <cmath>

#include "device/uneven_mask.hpp"
#include "device/unpack_wgmma_checks.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test::wgmma;
using test::UnpackCase;

TEST_CASE("unpack_wgmma: bf16 of two terms under tf32, and promotions apart") {
  Spmm problem = problem_of(64);
  problem.math = Math::tf32;
  UnpackWgmmaConfig config = plain(problem, 64);
  config.mode = PackedMode::bf16x3;
  for (const int promotion_blocks : {0, 1, 3}) {
    config.promotion_blocks = promotion_blocks;
    check(UnpackCase(sparse::uniform(128, 700, 0.6, seed), problem, seed), config);
  }
}

TEST_CASE("unpack_wgmma: one f16 term under tf32, prepared for one, two and four k blocks a promotion, and split") {
  for (const std::int64_t cols : {40, 700})
    for (const Layout layout : {Layout::row_major, Layout::column_major})
      for (const int promotion_blocks : {1, 2, 4}) {
        Spmm problem = problem_of(64);
        problem.math = Math::tf32;
        problem.dense_layout = layout;
        UnpackWgmmaConfig config = plain(problem, 64);
        config.mode = PackedMode::f16_scaled;
        config.promotion_blocks = promotion_blocks;
        check(UnpackCase(sparse::uniform(128, cols, 0.6, seed), problem, seed), config);
      }
}

TEST_CASE("unpack_wgmma: sums of many products of one sign stay within the promise") {
  for (const std::int64_t cols : {4096, 8192, 16384}) {
    const Spmm problem = problem_of(16);
    sparse::Csr csr = sparse::uniform(64, cols, 0.0, seed);
    csr.values.assign(static_cast<std::size_t>(csr.nonzeros()), 0.7);
    UnpackCase c(csr, problem, seed);
    for (const bool positive : {false, true}) {
      if (positive)
        for (float& value : c.host.dense) value = std::fabs(value);
      for (const int promotion_blocks : {1, 2}) {
        UnpackWgmmaConfig config = plain(problem, 16);
        config.promotion_blocks = promotion_blocks;
        check(c, config);
        config.k_split = 2;
        config.overlap = true;
        check(c, config);
      }
    }
  }
}

TEST_CASE("unpack_wgmma: two k blocks a promotion, with any number left over, in slices of k") {
  for (const std::int64_t blocks : {1, 2, 3, 5, 8, 131})
    for (const int k_split : {1, 2, 3})
      for (const bool overlap : {false, true}) {
        const Spmm problem = problem_of(70);
        UnpackWgmmaConfig config = plain(problem, 32);
        config.promotion_blocks = 2;
        config.k_split = k_split;
        config.overlap = overlap;
        config.stages = 3;
        const std::int64_t slices = k_split;
        const std::int64_t slice = (blocks + 2 * slices - 1) / (2 * slices) * 2;
        if ((slices - 1) * slice >= blocks) continue;  // an empty slice: a rule
        UnpackCase c(sparse::uniform(100, 64 * blocks - 7, 0.7, seed), problem, seed);
        // Neighbouring k blocks of B differ in size, and pairs of them do.
        for (std::int64_t k = 0; k < c.host.walked.cols; ++k)
          for (std::int64_t j = 0; j < problem.n; ++j)
            c.host.dense[static_cast<std::size_t>(k * problem.n + j)] *=
                std::ldexp(1.0F, static_cast<int>(k / 64 * 7 % 12));
        check(c, config);
      }
}

TEST_CASE("unpack_wgmma: magnitudes from 1e-30 to 1e30, by row of A and by column of B, stay within the promise") {
  sparse::Random random(seed + 2);
  for (const bool opposed : {false, true}) {
    sparse::Csr csr = sparse::uniform(128, 256, 0.5, seed);
    for (std::int64_t row = 0; row < csr.rows; ++row)
      for (auto i = csr.row_offsets[static_cast<std::size_t>(row)];
           i < csr.row_offsets[static_cast<std::size_t>(row) + 1]; ++i)
        csr.values.push_back(random.normal() *
                             std::pow(10.0, static_cast<double>(row % 61 - 30) * (opposed ? 1 : 0.4)));
    UnpackCase c(csr, problem_of(64), seed);
    for (std::int64_t k = 0; k < 256; ++k)
      for (std::int64_t j = 0; j < 64; ++j)
        c.host.dense[static_cast<std::size_t>(k * 64 + j)] *=
            static_cast<float>(std::pow(10.0, static_cast<double>(opposed ? -j % 8 : j % 31 - 15)));
    for (const int promotion_blocks : {1, 2})
      for (const int tile_columns : {16, 32, 64}) {
        UnpackWgmmaConfig config = plain(c.problem(), tile_columns);
        config.promotion_blocks = promotion_blocks;
        check(c, config);
      }
  }
}

TEST_CASE(
    "unpack_wgmma: columns that grow large along k, one or all, stay within the promise, also where sums are set "
    "aside") {
  constexpr std::int64_t n = 48;
  for (const std::int64_t cols : {640, 16384}) {
    sparse::Csr csr = sparse::uniform(64, cols, cols > 640 ? 0.0 : 0.5, seed);
    sparse::Random random(seed + 4);
    for (std::int64_t i = 0; i < csr.nonzeros(); ++i) csr.values.push_back(1e-3 * random.normal());
    for (const double growth : {0.0, 6.0, 35.0})  // decimal places from the middle on
      for (const bool one : {false, true}) {
        UnpackCase c(csr, problem_of(n), seed);
        for (std::int64_t k = cols / 2; k < cols; ++k)
          for (std::int64_t j = one ? 37 : 0; j < (one ? 38 : n); ++j)
            c.host.dense[static_cast<std::size_t>(k * n + j)] *= static_cast<float>(std::pow(10.0, growth));
        for (const int promotion_blocks : {1, 2}) {
          UnpackWgmmaConfig config = plain(c.problem(), 32);
          config.promotion_blocks = promotion_blocks;
          check(c, config);
        }
      }
  }
}
