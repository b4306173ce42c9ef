// Every way in which B comes to wgmma compiles for sm_90a without spills: 16 bits by threads, by a tensor map,
// prepared; f32 split by the block. NVRTC alone.
#include <doctest/doctest.h>

#include <tuple>

#include <memory>

#include <abi/sparse_tensor_wgmma.h>

#include "codegen/fields.hpp"
#include "compile/nvrtc.hpp"
#include "compile/sweep_jobs.hpp"
#include "contains.hpp"
#include "ops/families.hpp"
#include "ops/spmm/unpack_wgmma.hpp"

using namespace vostok;
using test::contains;

namespace {

const TopologyStatistics layer{.rows = 512, .cols = 2048, .nonzeros = 100000, .longest_row = 200, .mean_row = 195};

std::shared_ptr<const ops::Query> query_of(const Spmm& problem) {
  return ops::make_query(problem, layer, {problem.n, problem.n}, nullptr);
}

void add(test::Jobs& jobs, const ops::Family& family, const Spmm& problem, const ops::Config& config) {
  const auto query = query_of(problem);
  const auto reason = family.forbidden(*query, config);
  REQUIRE_MESSAGE(!reason, to_text(config.to_map()), ": ", reason.value_or(""));
  jobs.add(family, *query, config, "sm_90", true);
}

void add_unpack(test::Jobs& jobs, const ops::Family& family, const Spmm& problem, int tile_columns) {
  struct Way {
    bool prepare_dense;
    bool tensor_copies;
  };
  for (const Way way : {Way{false, false}, Way{false, true}, Way{true, false}})
    for (const int k_groups : {1, 2}) {
      UnpackWgmmaConfig config{.mode = PackedMode::f16x1,
                               .warpgroups = 1,
                               .k_groups = k_groups,
                               .tile_columns = tile_columns,
                               .stages = 4,
                               .promotion_blocks = 0,
                               .prepare_dense = way.prepare_dense,
                               .tensor_copies = way.tensor_copies};
      if (k_groups > 1 || copies_by_threads(config)) config.producer_warps = 4;
      add(jobs, family, problem, ops::Config::of(config));
    }
}

/// The shapes that differ in what the splitting warps have beside them: how many they are, whether registers change
/// hands, how wide the tile is.
void add_split(test::Jobs& jobs, const ops::Family& family, const Spmm& problem, PackedMode mode) {
  struct Shape {
    int warpgroups;
    int k_groups;
    int tile_columns;
    bool overlap;
    int producer_warps;
    int stages;
  };
  for (const Shape s : {Shape{1, 1, 128, true, 4, 4}, Shape{1, 1, 128, true, 8, 4}, Shape{1, 2, 64, true, 4, 4},
                        Shape{1, 2, 32, true, 8, 8}, Shape{2, 1, 128, false, 4, 3}, Shape{2, 1, 64, true, 8, 4}}) {
    const UnpackWgmmaConfig config{.mode = mode,
                                   .warpgroups = s.warpgroups,
                                   .k_groups = s.k_groups,
                                   .tile_columns = s.tile_columns,
                                   .stages = s.stages,
                                   .strip_pairs = 256,
                                   .overlap = s.overlap,
                                   .prepare_dense = false,
                                   .producer_warps = s.producer_warps};
    add(jobs, family, problem, ops::Config::of(config));
  }
}

void add_sparse(test::Jobs& jobs, const ops::Family& family, const Spmm& problem, int tile_columns) {
  for (const bool tensor_copies : {false, true})
    for (const int warpgroups : {1, 2})
      add(jobs, family, problem,
          ops::Config::of(SparseTensorWgmmaConfig{.warpgroups = warpgroups,
                                                  .tile_columns = tile_columns,
                                                  .stages = 3,
                                                  .producer_warps = tensor_copies && warpgroups == 1 ? 1 : 4,
                                                  .tensor_copies = tensor_copies}));
}

/// The same of what the copy engine brings, where columns keep their scales and where they do not.
void add_copied_split(test::Jobs& jobs, const ops::Family& family, const Spmm& problem, PackedMode mode) {
  for (const auto& [warpgroups, tile_columns, producer_warps, persistent] :
       {std::tuple{2, 128, 8, true}, {2, 128, 8, false}, {4, 64, 4, true}, {1, 32, 4, false}}) {
    if (mode != PackedMode::f16_scaled && (persistent || warpgroups == 4)) continue;  // more than registers hold
    UnpackWgmmaConfig config{.mode = mode,
                             .warpgroups = warpgroups,
                             .tile_columns = tile_columns,
                             .stages = 2,
                             .strip_pairs = 256,
                             .overlap = false,
                             .promotion_blocks = mode == PackedMode::bf16x3 ? 4 : 1,
                             .prepare_dense = false,
                             .producer_warps = producer_warps,
                             .tensor_copies = true,
                             .persistent = persistent};
    if (mode == PackedMode::f16_scaled && tile_columns == 16 * producer_warps) config.promotion_blocks = 0;
    add(jobs, family, problem, ops::Config::of(config));
  }
}

/// Bytes stored and loaded. With certified sums a batch's column-major B that blocks split sets one register aside.
std::int64_t spills_allowed(const test::Job& job) {
  const std::string& text = job.request.expression;
  const bool known = contains(text, "certify = true") && contains(text, "batched = true") &&
                     contains(text, "dense_layout = vostok::Layout::column_major") &&
                     contains(text, "mode = vostok::PackedMode::f16x3");
  return known ? 8 : 0;
}

}  // namespace

TEST_CASE("every way of B to wgmma compiles for sm_90a without spills, for both layouts, with and without a batch") {
  const auto nvrtc = test::nvrtc_for("compiling copies of B");
  if (!nvrtc) return;
  const std::unique_ptr<ops::Family> unpack = ops::make_unpack_wgmma();
  const std::unique_ptr<ops::Family> sparse = ops::make_sparse_tensor_wgmma();
  test::Jobs jobs;
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const int tile_columns : {64, 256}) {
      const Spmm problem{.n = 512, .batch = tile_columns == 64 ? 2 : 1, .element = Dtype::f16, .dense_layout = layout};
      add_unpack(jobs, *unpack, problem, tile_columns == 64 ? 64 : 128);
      add_sparse(jobs, *sparse, problem, tile_columns);
    }
  for (const Layout layout : {Layout::row_major, Layout::column_major})
    for (const PackedMode mode : {PackedMode::f16x3, PackedMode::bf16x3, PackedMode::f16_scaled}) {
      const Math math = mode == PackedMode::f16x3 ? Math::accurate : Math::tf32;
      add_split(jobs, *unpack,
                {.n = 512, .batch = layout == Layout::row_major ? 1 : 2, .dense_layout = layout, .math = math}, mode);
      if (layout == Layout::row_major) add_copied_split(jobs, *unpack, {.n = 512, .math = math}, mode);
    }
  // A tile narrower than the boxes of a row-major B.
  add_unpack(jobs, *unpack, {.n = 16, .element = Dtype::f16}, 16);
  int compiled = 0;
  test::compile_jobs(*nvrtc, jobs.list(), 2, [&](const test::Job& job, const test::Outcome& outcome) {
    const auto& [image, failure, seconds] = outcome;
    CHECK_MESSAGE(failure.empty(), job.request.expression, ": ", failure);
    CHECK_MESSAGE(image.spill_bytes <= spills_allowed(job), job.request.expression);
    CHECK_MESSAGE(image.warnings.empty(), job.request.expression, ": ",
                  image.warnings.empty() ? "" : image.warnings.front());
    ++compiled;
    return true;
  });
  CHECK(compiled >= 64);
}
