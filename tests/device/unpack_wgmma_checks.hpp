// What tests of unpack_wgmma share: the GPUs that have wgmma, a plain config, and checks of it with every way in which
// B comes.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <limits>

#include "codegen/fields.hpp"
#include "device/unpack_harness.hpp"
#include "ops/families.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "sparse/generate.hpp"

namespace vostok::test::wgmma {

inline constexpr std::uint64_t seed = 90;

inline const ops::Family& family() {
  static const auto made = ops::make_unpack_wgmma();
  return *made;
}

/// The GPUs that have wgmma; says once where there is none.
inline const std::vector<test::NamedDevice>& hoppers() {
  static const std::vector<test::NamedDevice> list = test::hoppers_of(family());
  return list;
}

inline Spmm problem_of(std::int64_t n, Dtype element = Dtype::f32) {
  return {.n = n, .element = element, .value_lifetime = ValueLifetime::persistent};
}

/// Makes a batch of three whose lines lie further apart than they are long: one B behind another, or side by side.
inline void lay_apart(Spmm& problem, Layout layout, std::int64_t cols, bool side_by_side) {
  const auto copy = std::int64_t{16 / size_of(problem.element)};  // elements of 16 bytes
  const std::int64_t length = layout == Layout::row_major ? problem.n : cols;
  const std::int64_t lines = layout == Layout::row_major ? cols : problem.n;
  problem.batch = 3;
  problem.dense_layout = layout;
  problem.dense_leading = side_by_side ? problem.batch * (length + copy) : length + 3 * copy;
  problem.dense_stride = side_by_side ? length + copy : lines * problem.dense_leading + 5 * copy;
}

/// Another batch, layout of C and epilogue at every turn; B may hold anything where A names nothing.
inline void vary(Spmm& problem, int turn) {
  problem.batch = turn % 5 == 3 ? 2 : 1;
  problem.output_layout = turn % 6 == 2 ? Layout::column_major : Layout::row_major;
  problem.epilogue = {.bias = static_cast<Bias>(turn % 3), .residual = turn % 2 == 0, .accumulate = turn % 3 == 1};
  problem.nonfinite = NonFinite::sparse;
}

/// Scales every third column of B so that columns' scales are far apart.
inline void scale_columns_apart(UnpackCase& c) {
  for (std::size_t i = 0; i < c.host.dense.size(); ++i)
    if (i % static_cast<std::size_t>(c.problem().n) % 3 == 0) c.host.dense[i] *= 1e12F;
}

inline PackedMode mode_of(const Spmm& problem) {
  if (problem.element == Dtype::f16) return PackedMode::f16x1;
  if (problem.element == Dtype::bf16) return PackedMode::bf16x1;
  return PackedMode::f16x3;
}

/// A product of 448 rows of B, every fifth of which has an element that is no number, each in another column.
inline UnpackCase with_numberless_rows(Dtype element, int columns) {
  UnpackCase c(sparse::uniform(150, 448, 0.8, seed), problem_of(columns, element), seed);
  for (std::int64_t k = 0; k < 448; k += 5)
    c.host.dense[static_cast<std::size_t>(k * columns + k % columns)] = std::numeric_limits<float>::quiet_NaN();
  return c;
}

/// The plainest config: one warpgroup, nothing overlaps, two stages.
inline UnpackWgmmaConfig plain(const Spmm& problem, int tile_columns) {
  const bool wide = problem.element == Dtype::f32;
  return {.mode = mode_of(problem),
          .warpgroups = 1,
          .tile_columns = tile_columns,
          .stages = 2,
          .overlap = false,
          .promotion_blocks = wide ? 1 : 0,
          .prepare_dense = wide,
          .producer_warps = wide ? 1 : 4};
}

inline void check_one(const UnpackCase& c, const UnpackWgmmaConfig& config) {
  for (const test::NamedDevice& on : hoppers()) {
    const ops::SpmmQuery query = c.query(on.device.get());
    const ops::Config fields = ops::Config::of(config);
    INFO(to_text(fields.to_map()));
    const auto reason = family().forbidden(query, fields);
    CHECK_MESSAGE(!reason, reason.value_or(""));
    if (!reason) test::check_unpack(on, family(), c, fields);
  }
}

/// Whether the rules refuse a config for the lack of this: "shared memory", "registers".
inline bool lacks(const UnpackCase& c, const UnpackWgmmaConfig& config, const char* what) {
  const auto reason = ops::unpack_wgmma::forbidden(c.query(nullptr), config);
  return reason && reason->find(what) != std::string::npos;
}

/// The same product by a 2:4 sparse A, where stages still fit and what 16-bit fours leave over comes in batches.
inline void check_fours(const UnpackCase& c, UnpackWgmmaConfig config) {
  config.grain = PackedGrain::four;
  config.strip_pairs = std::min(config.strip_pairs, packed_most(config.grain));
  if (batches_left_over(config) && !can_batch(ops::unpack_wgmma::stage_traits(c.query(nullptr), config), config))
    return;
  if (!lacks(c, config, "shared memory")) check_one(c, config);
}

/// The same product by whole strips, where stages still fit.
inline void check_whole(const UnpackCase& c, UnpackWgmmaConfig config) {
  config.grain = PackedGrain::whole;
  config.strip_pairs = packed_most(config.grain);
  config.overlap = config.promotion_blocks == 0;
  config.kept_blocks = 0;
  config.dense_rooms = 0;
  if (config.overlap) config.stages = std::max(config.stages, 2 * config.k_groups);
  if (!lacks(c, config, "shared memory")) check_one(c, config);
}

/// The other grains of A.
inline void check_grains(const UnpackCase& c, const UnpackWgmmaConfig& config) {
  check_fours(c, config);
  check_whole(c, config);
}

/// The config with blocks that split an f32 B, which their warps load or the copy engine brings, where they can: lines
/// of whole copies, tiles wide enough, registers and stages for all.
inline void check_splitting(const UnpackCase& c, UnpackWgmmaConfig config, int producer_warps, bool tensor_copies) {
  config.prepare_dense = false;
  config.producer_warps = producer_warps;
  config.tensor_copies = tensor_copies;
  if (packed_scales_rows(config.mode)) config.promotion_blocks = 1;
  if (config.tile_columns < 32 || ops::dense_alignment(c.query(nullptr)) < 16) return;
  if (tensor_copies && c.problem().dense_layout == Layout::column_major) return;
  const int step = std::max(split_block_step(config), config.k_groups);
  config.stages = (config.stages + step - 1) / step * step;
  if (lacks(c, config, "registers") || lacks(c, config, "shared memory")) return;
  check_one(c, config);
  if (producer_warps == 4) check_grains(c, config);
}

/// The config with copies of 16 bits by the copy engine, of rows made of columns too, where its boxes serve.
inline void check_mapped(const UnpackCase& c, UnpackWgmmaConfig config) {
  if (!copies_by_threads(config)) return;
  config.tensor_copies = true;
  const Layout layout = c.problem().dense_layout;
  if (!ops::is_narrower_than_boxes(c.query(nullptr), layout, config.tile_columns)) {
    check_one(c, config);
    check_grains(c, config);
  }
  if (layout == Layout::row_major ||
      ops::is_narrower_than_boxes(c.query(nullptr), Layout::row_major, config.tile_columns))
    return;
  config.prepare_dense = true;
  check_one(c, config);
  check_grains(c, config);
}

/// The config, its other grains, and other ways of B: blocks that split an f32 one, or where threads copy it the copy
/// engine, whose boxes have 64 columns.
inline void check(const UnpackCase& c, const UnpackWgmmaConfig& config) {
  check_one(c, config);
  check_grains(c, config);
  if (c.problem().element == Dtype::f32 && config.prepare_dense)
    for (const int producer_warps : {4, 8})
      for (const bool tensor_copies : {false, true}) check_splitting(c, config, producer_warps, tensor_copies);
  check_mapped(c, config);
}

}  // namespace vostok::test::wgmma
