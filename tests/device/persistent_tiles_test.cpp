// Persistent blocks of unpack_wgmma whose A stays in registers from tile to tile.
#include <doctest/doctest.h>

#include "device/spoilt_dense.hpp"
#include "device/unpack_wgmma_checks.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test::wgmma;
using test::UnpackCase;

namespace {

/// A config whose B the copy engine brings.
UnpackWgmmaConfig keeping(const Spmm& problem, int columns, int warpgroups, int blocks) {
  UnpackWgmmaConfig config = plain(problem, columns);
  config.persistent = true;
  config.kept_blocks = blocks;
  config.warpgroups = warpgroups;
  config.stages = 3;
  config.producer_warps = warpgroups == 1 ? 1 : 4;
  config.prepare_dense = problem.element == Dtype::f32;
  config.tensor_copies = !config.prepare_dense;
  config.strip_pairs = 256;
  return config;
}

}  // namespace

TEST_CASE("unpack_wgmma: A stays in registers, whatever the epilogue, the layouts and what B holds") {
  int turn = 0;
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const int blocks : {1, 2, 4, 5})
      for (const int warpgroups : {1, 2}) {
        ++turn;
        Spmm problem = problem_of(1416, element);
        vary(problem, turn);
        problem.dense_layout = turn % 4 == 1 ? Layout::column_major : Layout::row_major;
        if (turn % 4 == 3) problem.output = Dtype::f32;
        const sparse::Csr mask = sparse::uniform(930, std::int64_t{64} * blocks - 8, 0.8, seed);
        UnpackCase c(test::without_every_fourth_column(mask), problem, seed);
        if (turn % 3 == 0) CHECK(test::spoil_unnamed(c.host) > 0);
        check_one(c, keeping(problem, 64, warpgroups, blocks));
      }
}

TEST_CASE("unpack_wgmma: A of f32 under tf32 stays in registers, its sums promoted once or more often") {
  for (const int blocks : {2, 4, 8})
    for (const int promotion_blocks : {1, 2, 4})
      for (const int columns : {64, 128}) {
        if (blocks == 8 && columns == 128) continue;  // too few registers: a rule
        Spmm problem = problem_of(1412);
        problem.math = Math::tf32;
        problem.nonfinite = NonFinite::sparse;
        UnpackWgmmaConfig config = keeping(problem, columns, 2, blocks);
        config.mode = PackedMode::f16_scaled;
        config.promotion_blocks = promotion_blocks;
        UnpackCase c(sparse::uniform(930, std::int64_t{64} * blocks, 0.8, seed), problem, seed);
        if (promotion_blocks == 2) scale_columns_apart(c);
        check_one(c, config);
      }
}
