// Persistent blocks of unpack_wgmma whose B stays in shared memory while they take every row tile of its columns.
#include <doctest/doctest.h>

#include "device/spoilt_dense.hpp"
#include "device/unpack_wgmma_checks.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test::wgmma;
using test::UnpackCase;

namespace {

/// Columns of tiles: more than one for each block of the largest GPU of sm_90, and a part of one.
constexpr std::int64_t columns_of_several_tiles(int tile_columns) { return 132 * tile_columns * 2 - 60; }

/// A config of two terms, or of one under tf32, whose columns then keep their scales.
UnpackWgmmaConfig keeping_dense(const Spmm& problem, int tile_columns, int rooms) {
  const bool keeps_scales = problem.math == Math::tf32;
  UnpackWgmmaConfig config = plain(problem, tile_columns);
  config.mode = keeps_scales ? PackedMode::f16_scaled : PackedMode::f16x3;
  config.grain = PackedGrain::whole;
  config.warpgroups = 2;
  config.overlap = keeps_scales;
  config.promotion_blocks = keeps_scales ? 0 : 1;
  config.prepare_dense = false;
  config.tensor_copies = true;
  config.producer_warps = keeps_scales ? tile_columns / 16 : 4;
  config.persistent = true;
  config.dense_rooms = rooms;
  return config;
}

}  // namespace

TEST_CASE("unpack_wgmma: B stays for all row tiles of its columns, in as many rooms as it has k blocks or more") {
  for (const Math math : {Math::accurate, Math::tf32})
    for (const int columns : {64, 128})
      for (const int blocks : {1, 2, 3})
        for (const int more_rooms : {0, 1}) {
          Spmm problem = problem_of(columns_of_several_tiles(columns));
          problem.math = math;
          const UnpackCase c(sparse::uniform(300, std::int64_t{64} * blocks - 8, 0.8, seed), problem, seed);
          check_one(c, keeping_dense(problem, columns, blocks + more_rooms));
        }
}

TEST_CASE("unpack_wgmma: B stays, whatever the epilogue, the layouts and what it holds") {
  int turn = 0;
  for (const Math math : {Math::accurate, Math::tf32})
    for (const int blocks : {1, 3, 5})
      for (const int warpgroups : {1, 2}) {
        ++turn;
        Spmm problem = problem_of(1416);
        problem.math = math;
        vary(problem, turn);
        problem.value_lifetime = turn % 4 == 1 ? ValueLifetime::per_call : ValueLifetime::persistent;
        const sparse::Csr mask = sparse::uniform(930, std::int64_t{64} * blocks - 8, 0.8, seed);
        UnpackCase c(test::without_every_fourth_column(mask), problem, seed);
        if (turn % 3 == 0) CHECK(test::spoil_unnamed(c.host) > 0);
        if (turn % 3 == 1) scale_columns_apart(c);
        UnpackWgmmaConfig config = keeping_dense(problem, 64, blocks);
        config.warpgroups = warpgroups;
        config.stages = 2 + turn % 3;
        check_one(c, config);
      }
}
