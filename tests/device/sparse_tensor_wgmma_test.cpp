// sparse_tensor_wgmma against float64 on every GPU of sm_90, simplest problems first: a first failure tells which part
// is wrong.
#include <doctest/doctest.h>

#include <cstdio>

#include <abi/sparse_tensor_wgmma.h>

#include "codegen/fields.hpp"
#include "config_fields.hpp"
#include "device/problem_levels.hpp"
#include "device/sparse_tensor_harness.hpp"
#include "device/uneven_mask.hpp"
#include "ops/families.hpp"
#include "sparse/generate.hpp"

using namespace vostok;
using test::SparseCase;

namespace {

constexpr std::uint64_t seed = 92;

const ops::Family& family() {
  static const auto made = ops::make_sparse_tensor_wgmma();
  return *made;
}

/// The GPUs that have wgmma; says once where there is none.
const std::vector<test::NamedDevice>& hoppers() {
  static const std::vector<test::NamedDevice> list = test::hoppers_of(family());
  return list;
}

Spmm problem_of(std::int64_t n, Dtype element = Dtype::f16, Layout dense_layout = Layout::row_major) {
  return {.n = n,
          .element = element,
          .output = Dtype::f32,
          .dense_layout = dense_layout,
          .value_lifetime = ValueLifetime::persistent};
}

/// The plainest config: one warpgroup, two stages.
SparseTensorWgmmaConfig plain(int tile_columns) { return {.warpgroups = 1, .tile_columns = tile_columns, .stages = 2}; }

void check_one(const SparseCase& c, const SparseTensorWgmmaConfig& config) {
  for (const test::NamedDevice& on : hoppers()) {
    const ops::Config fields = ops::Config::of(config);
    INFO(to_text(fields.to_map()));
    const auto reason = family().forbidden(c.query(on.device.get()), fields);
    CHECK_MESSAGE(!reason, *reason);
    if (!reason) test::check_sparse(on, family(), c, fields);
  }
}

/// The config, whose B threads copy, and the same with the copy engine.
void check(const SparseCase& c, const SparseTensorWgmmaConfig& config) {
  check_one(c, config);
  SparseTensorWgmmaConfig mapped = config;
  mapped.tensor_copies = true;
  mapped.producer_warps = config.warpgroups == 1 ? 1 : 4;
  check_one(c, mapped);
}

/// Ones on a diagonal that starts in a column, in one block or two: lines of a column-major B are whole copies.
sparse::Csr diagonal(std::int64_t size, std::int64_t first_column) {
  sparse::Csr csr{.rows = size, .cols = first_column == 0 ? size : 2 * size};
  for (std::int64_t i = 0; i < size; ++i) {
    csr.column_indices.push_back(static_cast<std::int32_t>(first_column + i));
    csr.row_offsets.push_back(i + 1);
    csr.values.push_back(1);
  }
  return csr;
}

constexpr std::array all_columns = {64, 128, 256};
constexpr std::array all_layouts = {Layout::row_major, Layout::column_major};

}  // namespace

TEST_CASE("sparse_tensor_wgmma: one identity of a block, times B, is B, for every element, layout and tile") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const Layout layout : all_layouts)
      for (const int columns : all_columns) {
        const Spmm problem = problem_of(columns, element, layout);
        check(SparseCase(diagonal(64, 0), problem, seed), plain(columns));
      }
}

TEST_CASE("sparse_tensor_wgmma: each place among four columns is found") {
  for (const std::int64_t first : {1, 2, 3, 4, 17, 32})
    for (const Layout layout : all_layouts)
      check(SparseCase(diagonal(64, first), problem_of(64, Dtype::f16, layout), seed), plain(64));
}

TEST_CASE("sparse_tensor_wgmma: one k block of random values, of one pass and of two, and full") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const double sparsity : {0.98, 0.9, 0.5, 0.0})
      for (const Layout layout : all_layouts)
        check(SparseCase(sparse::uniform(64, 64, sparsity, seed), problem_of(64, element, layout), seed), plain(64));
}

TEST_CASE("sparse_tensor_wgmma: more k blocks than stages") {
  for (const std::int64_t blocks : {2, 3, 4, 5, 11})
    for (const int stages : {2, 3, 4})
      for (const int columns : all_columns) {
        SparseTensorWgmmaConfig config = plain(columns);
        config.stages = stages;
        if (columns == 256 && stages > 3) continue;
        check(SparseCase(sparse::uniform(64, 64 * blocks, 0.9, seed), problem_of(columns), seed), config);
      }
}

TEST_CASE("sparse_tensor_wgmma: several warpgroups, and registers that they exchange") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const int columns : all_columns) {
      SparseTensorWgmmaConfig config = plain(columns);
      config.warpgroups = 2;
      check(SparseCase(sparse::uniform(128, 320, 0.9, seed), problem_of(columns, element), seed), config);
    }
}

TEST_CASE("sparse_tensor_wgmma: warps of a warpgroup with different numbers of passes, none among them") {
  // Rows 0 to 15 have two passes, 16 to 31 one, the rest none; of the second k block only row 50 has any.
  sparse::Csr csr{.rows = 64, .cols = 128};
  for (std::int32_t r = 0; r < 64; ++r) {
    if (r < 16) csr.column_indices.insert(csr.column_indices.end(), {4, 5, 6, 7, 40, 41, 42});
    else if (r < 32) csr.column_indices.push_back(r);
    if (r == 50) csr.column_indices.insert(csr.column_indices.end(), {100, 101, 103});
    csr.row_offsets.push_back(static_cast<std::int64_t>(csr.column_indices.size()));
  }
  for (const int columns : all_columns) check(SparseCase(csr, problem_of(columns), seed), plain(columns));
}

TEST_CASE("sparse_tensor_wgmma: the tiles of a large product, their order, and slices of k") {
  for (const int k_split : {1, 2, 3})
    for (const int raster_rows : {1, 2, 8}) {
      const SparseTensorWgmmaConfig config = {
          .warpgroups = 2, .tile_columns = 64, .stages = 3, .k_split = k_split, .raster_rows = raster_rows};
      check(SparseCase(sparse::uniform(1000, 448, 0.95, seed), problem_of(200), seed), config);
    }
}

TEST_CASE("sparse_tensor_wgmma: slices of k whose blocks are a cluster, with every epilogue's operands") {
  for (const int k_split : {2, 3, 4, 8})
    for (const int columns : all_columns) {
      Spmm problem = problem_of(200);
      problem.batch = k_split == 3 ? 2 : 1;
      problem.epilogue = {
          .bias = Bias::per_column, .residual = true, .activation = Activation::relu, .accumulate = true};
      SparseTensorWgmmaConfig config = plain(columns);
      config.k_split = k_split;
      config.cluster_sums = true;
      check(SparseCase(sparse::uniform(300, 64 * 15 - 8, 0.95, seed), problem, seed), config);
    }
}

TEST_CASE("sparse_tensor_wgmma: persistent blocks go through more tiles than fill the device") {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    for (const std::int64_t cols : {64, 200, 520})
      for (const Layout layout : all_layouts) {
        Spmm problem = problem_of(1200, element, layout);
        problem.output = element;
        problem.output_layout = layout;
        problem.batch = cols == 200 ? 2 : 1;
        problem.epilogue = {.bias = Bias::per_row, .residual = true, .accumulate = cols == 64};
        SparseTensorWgmmaConfig config = plain(64);
        config.persistent = true;
        config.tensor_copies = true;
        config.producer_warps = 1;
        config.stages = 3;
        check_one(SparseCase(sparse::uniform(704, cols, 0.9, seed), problem, seed), config);
      }
}

TEST_CASE("sparse_tensor_wgmma: strips that do not fit their stage are read from global memory") {
  for (const int passes : {1, 2, 3})
    for (const ValueLifetime lifetime : {ValueLifetime::persistent, ValueLifetime::per_call}) {
      SparseTensorWgmmaConfig config = plain(64);
      config.strip_passes = passes;
      Spmm problem = problem_of(64);
      problem.value_lifetime = lifetime;
      check(SparseCase(test::uneven_mask(200, 500, seed), problem, seed), config);
    }
}

TEST_CASE("sparse_tensor_wgmma: every pair of types, layouts, strides, batches and epilogues is right") {
  MESSAGE("seed " << seed);
  constexpr std::array<std::int64_t, 7> sizes = {64, 40, 256, 72, 48, 200, 136};
  const std::vector<test::LevelledProblem> problems = test::paired_tensor_problems(seed, sizes);
  int served = 0;
  for (const test::NamedDevice& on : hoppers())
    for (std::size_t i = 0; i < problems.size(); ++i) {
      test::LevelledProblem chosen = problems[i];
      if (chosen.problem.element == Dtype::f32) chosen.problem.element = i % 2 == 0 ? Dtype::f16 : Dtype::bf16;
      chosen.problem.alignment_bytes = 16;
      const SparseCase c(chosen.csr, chosen.problem, seed + i);
      const ops::SpmmQuery query = c.query(on.device.get());
      if (family().declines(query)) continue;  // lines of B that do not start at 16 bytes
      test::check_sparse(on, family(), c, family().default_config(query));
      ++served;
    }
  if (!hoppers().empty()) CHECK(served >= 10);
}

TEST_CASE("sparse_tensor_wgmma: every config of the space that differs in its tile is right") {
  for (const test::NamedDevice& on : hoppers()) {
    const SparseCase c(test::uneven_mask(300, 1000, seed), problem_of(256, Dtype::bf16), seed);
    const ops::SpmmQuery query = c.query(on.device.get());
    for (const ops::Config& config : family().space(query))
      if (!family().forbidden(query, config) && test::field(config, "raster_rows") == "8")
        test::check_sparse(on, family(), c, config);
  }
}

TEST_CASE("sparse_tensor_wgmma: a choice for several n is right for each of them") {
  for (const test::NamedDevice& on : hoppers())
    for (const std::int64_t n : {8, 56, 64, 200, 256}) {
      SparseCase c(test::uneven_mask(130, 300, seed), problem_of(n), seed);
      c.sizes = ops::SizeRange{8, 256, 8};
      test::check_sparse(on, family(), c, family().default_config(c.query(on.device.get())));
    }
}

TEST_CASE("sparse_tensor_wgmma: sums that both instructions make differ by what tensor cores cut, over a long k") {
  static const auto portable = ops::make_sparse_tensor_mma();
  for (const test::NamedDevice& on : hoppers()) {
    const SparseCase c(sparse::uniform(256, 8192, 0.95, seed), problem_of(256), seed);
    const ops::SpmmQuery query = c.query(on.device.get());
    test::check_sparse(on, family(), c, family().default_config(query));
    test::check_sparse(on, *portable, c, static_cast<const ops::Family&>(*portable).default_config(query));
  }
}
