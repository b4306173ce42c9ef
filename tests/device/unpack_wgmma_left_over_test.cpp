// What fours of 16 bits leave over, which unpack_wgmma multiplies in batches, against float64 on every GPU of sm_90.
#include <doctest/doctest.h>

#include <array>

#include "device/unpack_wgmma_checks.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using namespace vostok::test::wgmma;
using test::UnpackCase;

namespace {

UnpackWgmmaConfig fours(const Spmm& problem, int tile_columns) {
  UnpackWgmmaConfig config = plain(problem, tile_columns);
  config.grain = PackedGrain::four;
  config.strip_pairs = packed_most(config.grain);
  config.tensor_copies = true;
  return config;
}

/// Masks of which a strip leaves over none, some, more than a warp loads at once, and half of it.
constexpr std::array sparsities = {0.97, 0.8, 0.5, 0.0};

}  // namespace

TEST_CASE("unpack_wgmma: what 16-bit fours leave over, few and many, in tiles past the last column") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const int columns : {128, 256}) {
      const Spmm problem = problem_of(columns + 72, element);
      for (const double sparsity : sparsities)
        check_one(UnpackCase(sparse::uniform(150, 448, sparsity, seed), problem, seed), fours(problem, columns));
    }
}

TEST_CASE("unpack_wgmma: what 16-bit fours leave over in each slice of k, of a batch whose rows lie apart") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const int columns : {128, 256}) {
      Spmm problem = problem_of(columns + 40, element);
      lay_apart(problem, Layout::row_major, 700, element == Dtype::f16);
      UnpackWgmmaConfig config = fours(problem, columns);
      config.warpgroups = 2;
      config.producer_warps = 4;
      config.tensor_copies = true;
      config.overlap = true;
      config.stages = 4;
      config.k_split = 2;
      config.cluster_sums = true;
      for (const double sparsity : sparsities)
        check_one(UnpackCase(sparse::uniform(300, 700, sparsity, seed), problem, seed), config);
    }
}

TEST_CASE("unpack_wgmma: what 16-bit fours leave over of a batch in columns, of which a launch makes rows") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const std::int64_t cols : {700, 448}) {
      Spmm problem = problem_of(168, element);
      lay_apart(problem, Layout::column_major, cols, cols == 448);
      if (element == Dtype::f16) problem.output_layout = Layout::column_major;
      UnpackWgmmaConfig config = fours(problem, 128);
      config.prepare_dense = true;
      config.k_split = 2;
      for (const double sparsity : sparsities)
        check_one(UnpackCase(sparse::uniform(150, cols, sparsity, seed), problem, seed), config);
    }
}

TEST_CASE("unpack_wgmma: what 16-bit fours leave over beside sums that are promoted, and an output of f32") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16}) {
    Spmm problem = problem_of(256, element);
    problem.output = Dtype::f32;
    UnpackWgmmaConfig config = fours(problem, 128);
    config.promotion_blocks = 4;
    for (const double sparsity : sparsities)
      check_one(UnpackCase(sparse::uniform(200, 640, sparsity, seed), problem, seed), config);
  }
}

TEST_CASE(
    "unpack_wgmma: what 16-bit fours leave over from tile to tile of persistent blocks, of more than fill a GPU") {
  for (const int columns : {64, 256})
    for (const bool overlap : {false, true}) {
      const Spmm problem = problem_of(1904, overlap ? Dtype::f16 : Dtype::bf16);
      UnpackWgmmaConfig config = fours(problem, columns);
      config.persistent = true;
      config.overlap = overlap;
      config.warpgroups = 2;
      for (const double sparsity : {0.9, 0.5})
        check_one(UnpackCase(sparse::uniform(2200, 200, sparsity, seed), problem, seed), config);
    }
}

TEST_CASE("unpack_wgmma: what 16-bit fours leave over takes nothing from rows of B that only their neighbours name") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const int columns : {128, 256}) {
      const UnpackCase c = with_numberless_rows(element, columns);
      check_one(c, fours(c.problem(), columns));
    }
}
