// unpack_wgmma by whole strips, which tensor cores read from shared memory, against float64 on every GPU of sm_90. The
// other tests of the family take this grain too, beside theirs; here is what it alone has.
#include <doctest/doctest.h>

#include <array>

#include "device/unpack_wgmma_checks.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test::wgmma;
using test::UnpackCase;

namespace {

constexpr std::array types = {Dtype::f32, Dtype::f16, Dtype::bf16};

UnpackWgmmaConfig whole(const Spmm& problem, int tile_columns) {
  UnpackWgmmaConfig config = plain(problem, tile_columns);
  config.grain = PackedGrain::whole;
  config.overlap = config.promotion_blocks == 0;
  config.tensor_copies = !config.prepare_dense;
  return config;
}

}  // namespace

TEST_CASE("unpack_wgmma: whole strips in every tile, from few stages to many, of warpgroups that share a k block") {
  for (const Dtype element : types)
    for (const int columns : {64, 128, 256}) {
      if (element == Dtype::f32 && columns == 256) continue;  // sums and totals take all registers
      const Spmm problem = problem_of(columns + 72, element);
      for (const int warpgroups : {1, 2, 4})
        for (const int stages : {2, 3, 6}) {
          UnpackWgmmaConfig config = whole(problem, columns);
          config.warpgroups = warpgroups;
          config.producer_warps = 4;
          config.stages = stages;
          const UnpackCase c(sparse::uniform(300, 900, 0.6, seed), problem, seed);
          if (!lacks(c, config, "shared memory") && !lacks(c, config, "registers")) check_one(c, config);
        }
    }
}

TEST_CASE("unpack_wgmma: whole strips, whose products are queued two k blocks deep, in slices and groups of k") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const int groups : {1, 2})
      for (const int slices : {1, 2, 3}) {
        Spmm problem = problem_of(200, element);
        lay_apart(problem, Layout::row_major, 1000, groups == 2);
        UnpackWgmmaConfig config = whole(problem, 64);
        config.k_groups = groups;
        config.stages = 6;
        config.k_split = slices;
        config.cluster_sums = slices == 2;
        for (const double sparsity : {0.5, 0.97})
          check_one(UnpackCase(sparse::uniform(150, 1000, sparsity, seed), problem, seed), config);
      }
}

TEST_CASE("unpack_wgmma: whole strips beside sums that are promoted, and an output of f32") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) {
    Spmm problem = problem_of(256, element);
    problem.output = Dtype::f32;
    UnpackWgmmaConfig config = whole(problem, 128);
    config.promotion_blocks = 4;
    config.overlap = false;
    config.stages = 4;
    check_one(UnpackCase(sparse::uniform(200, 640, 0.5, seed), problem, seed), config);
  }
}

TEST_CASE("unpack_wgmma: whole strips of values that each call packs, and of a transpose") {
  for (const Dtype element : types)
    for (const bool transposed : {false, true}) {
      Spmm problem = problem_of(136, element);
      problem.value_lifetime = ValueLifetime::per_call;
      problem.sparse_transposed = transposed;
      check_one(UnpackCase(sparse::uniform(330, 270, 0.7, seed), problem, seed), whole(problem, 128));
    }
}

TEST_CASE("unpack_wgmma: whole strips from tile to tile of persistent blocks, of more than fill a GPU") {
  for (const Dtype element : types)
    for (const int columns : {64, 128}) {
      const Spmm problem = problem_of(1904, element);
      UnpackWgmmaConfig config = whole(problem, columns);
      config.persistent = true;
      config.warpgroups = 2;
      config.producer_warps = 4;
      check_one(UnpackCase(sparse::uniform(2200, 200, 0.8, seed), problem, seed), config);
    }
}

TEST_CASE("unpack_wgmma: whole strips under tf32, whose columns keep their scales or not") {
  for (const bool keeps : {false, true}) {
    Spmm problem = problem_of(264);
    problem.math = Math::tf32;
    UnpackWgmmaConfig config = whole(problem, 128);
    config.mode = PackedMode::f16_scaled;
    config.prepare_dense = !keeps;
    config.tensor_copies = keeps;
    config.producer_warps = keeps ? 8 : 4;
    config.promotion_blocks = keeps ? 0 : 4;
    config.overlap = keeps;
    config.warpgroups = 2;
    config.stages = 4;
    for (const std::int64_t rows : {250, 128})
      check_one(UnpackCase(sparse::uniform(rows, 1000, 0.7, seed), problem, seed), config);
  }
}

TEST_CASE(
    "unpack_wgmma: whole strips take nothing from rows of B that they do not name, though they hold zeros there") {
  for (const Dtype element : types)
    for (const int columns : {64, 128}) {
      const UnpackCase c = with_numberless_rows(element, columns);
      check_one(c, whole(c.problem(), columns));
    }
}
