// The space of unpack_mma as tables. Narrow n is bound by reading and unpacking A, which one warp does once for all its
// columns. Warps then lie along the rows, or take the k blocks in turn. Wide n is bound by the multiplications: warps
// lie along both, and several unpack the same strips.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/copy_engine.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/unpack_mma.hpp"
#include "ops/spmm/unpack_sum.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::unpack_mma {

namespace {

/// Warps of a block and the part of the tile that each computes.
struct Shape {
  int row_warps;
  int column_warps;
  int warp_strips;
  int warp_columns;
  int k_warps = 1;
};

/// For n of at most 32: warp_columns is n rounded up.
constexpr std::array narrow_shapes = {
    Shape{8, 1, 2, 0},     Shape{4, 1, 2, 0},    Shape{8, 1, 1, 0},    Shape{4, 1, 4, 0},
    Shape{4, 1, 1, 0},     Shape{2, 1, 1, 0},    Shape{1, 1, 4, 0, 8}, Shape{1, 1, 4, 0, 16},
    Shape{1, 1, 2, 0, 16}, Shape{1, 1, 2, 0, 8}, Shape{1, 1, 1, 0, 8}, Shape{1, 1, 1, 0, 16},
    Shape{1, 1, 2, 0, 4},  Shape{1, 1, 1, 0, 4}, Shape{1, 1, 8, 0, 8}, Shape{1, 1, 8, 0, 16}};

constexpr std::array wide_shapes = {Shape{4, 1, 2, 64},    Shape{8, 1, 1, 64},    Shape{4, 2, 2, 64},
                                    Shape{4, 2, 2, 32},    Shape{4, 1, 1, 64},    Shape{2, 2, 2, 32},
                                    Shape{4, 1, 1, 32},    Shape{2, 1, 1, 32},    Shape{2, 4, 4, 32},
                                    Shape{1, 1, 2, 64, 8}, Shape{1, 1, 1, 64, 8}, Shape{1, 1, 4, 64, 4}};

/// The combinations with the smallest demands.
constexpr Shape smallest_narrow_shape{2, 1, 1, 0};
constexpr Shape smallest_wide_shape{2, 1, 1, 32};

constexpr std::array stage_counts = {4, 3, 6, 2};

/// Slices of k, relative to the number that fills the device once.
constexpr std::array split_steps = {0, 1, -1, 2};

/// Ways of bringing B's elements to the tensor cores.
struct Terms {
  PackedMode mode;
  bool prepare_dense;
};

/// The ways that may serve, the likely best first.
std::vector<Terms> all_terms(const SpmmQuery& query) {
  std::vector<Terms> list;
  for (const PackedMode mode : product_modes(query)) {
    list.push_back({mode, false});
    if (packed_splits(mode)) list.push_back({mode, true});
  }
  return list;
}

/// The fields that all configs of this query and these terms share.
UnpackMmaConfig common(const SpmmQuery& query, const Terms& terms) {
  return {.mode = terms.mode,
          .strip_pairs = usual_strip_pairs(query),
          .promotion_blocks = packed_splits(terms.mode) ? 1 : 4,
          .prepare_dense = terms.prepare_dense,
          .stream_output = streams_output(query)};
}

/// Columns for a narrow n: the power of two that holds it, at least an octet.
int narrow_columns(const SpmmQuery& query) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(query.n.most, 8, 32))));
}

bool is_wide(const SpmmQuery& query) { return query.n.most > 32; }

Shape narrow(const SpmmQuery& query, Shape shape) {
  shape.warp_columns = narrow_columns(query);
  return shape;
}

std::vector<Shape> shapes_for(const SpmmQuery& query) {
  if (is_wide(query)) return {wide_shapes.begin(), wide_shapes.end()};
  std::vector<Shape> list;
  list.reserve(narrow_shapes.size());
  for (const Shape& shape : narrow_shapes) list.push_back(narrow(query, shape));
  return list;
}

UnpackMmaConfig with_shape(UnpackMmaConfig config, const Shape& shape) {
  config.row_warps = shape.row_warps;
  config.column_warps = shape.column_warps;
  config.warp_strips = shape.warp_strips;
  config.warp_columns = shape.warp_columns;
  config.k_warps = shape.k_warps;
  return config;
}

/// Strips copied by the copy engine, or by threads.
UnpackMmaConfig with_copies(const SpmmQuery& query, UnpackMmaConfig config, bool in_bulk) {
  config.bulk_strips = in_bulk;
  config.stream_strips = in_bulk && reads_strips_once(query, {.mode = config.mode}, tile_columns(config));
  return config;
}

/// Teams of one warp sum only a part of k each, as slices do; sums of 16-bit elements stay in the tensor cores. Their
/// stages hold all strips of a warp, whose pairs in all vary less than those of one strip.
UnpackMmaConfig with_teams(const SpmmQuery& query, UnpackMmaConfig config) {
  if (teams(config) == 1) return config;
  config.strip_pairs = usual_strip_pairs(query, tile_strips(config));
  if (!packed_splits(config.mode)) config.promotion_blocks = 0;
  return with_copies(query, config, has_copy_engine(query));
}

/// As many resident blocks on an SM as shared memory and registers allow.
UnpackMmaConfig with_stages(const SpmmQuery& query, UnpackMmaConfig config, int stages) {
  constexpr int most_blocks = 8;
  config.stages = std::max(stages, splits_dense(config) ? 3 : 2);
  config.min_blocks = std::clamp(resident_blocks(query, config), 1, most_blocks);
  return config;
}

std::int64_t tiles(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return ceil_div(query.statistics.rows, tile_rows(config)) * ceil_div(query.n.most, tile_columns(config)) *
         query.problem.batch;
}

/// Slices that fill the device once; if sums must stay accurate, at least as many as that needs.
int filling_split(const SpmmQuery& query, const UnpackMmaConfig& config) {
  constexpr std::int64_t least_slice_blocks = 4;
  const auto room = static_cast<std::int64_t>(machine_of(query).multiprocessors) * config.min_blocks;
  std::int64_t split = 1;
  while (split < 64 && tiles(query, config) * split * 2 <= room &&
         k_blocks(query) >= 2 * split * least_slice_blocks * config.k_warps)
    split *= 2;
  if (config.mode == PackedMode::f16x3 && query.problem.math == Math::accurate)
    split = std::max(split, ceil_div(k_blocks(query), most_accurate_blocks * config.k_warps));
  return static_cast<int>(split);
}

/// `step`: each one doubles the number of slices, or halves it.
UnpackMmaConfig with_split(const SpmmQuery& query, UnpackMmaConfig config, int step) {
  const int split = filling_split(query, config);
  const int wanted = step >= 0 ? split << step : std::max(1, split >> -step);
  config.k_split = static_cast<int>(filled_parts(k_blocks(query), wanted));
  return config;
}

UnpackMmaConfig config_of(const SpmmQuery& query, const Terms& terms, const Shape& shape, int stages, int split_step) {
  return with_split(query, with_stages(query, with_teams(query, with_shape(common(query, terms), shape)), stages),
                    split_step);
}

/// A config and its likely improvements: strips copied the other way, room for the densest strips, and sums
/// that stay in the tensor cores.
void add_variants(const SpmmQuery& query, std::vector<UnpackMmaConfig>& list, const UnpackMmaConfig& config) {
  add_new(list, config);
  if (has_copy_engine(query)) add_new(list, with_copies(query, config, !config.bulk_strips));
  UnpackMmaConfig roomy = config;
  roomy.strip_pairs = packed_most_pairs();
  add_new(list, roomy);
  if (packed_splits(config.mode)) return;
  UnpackMmaConfig kept = config;
  kept.promotion_blocks = 0;
  add_new(list, kept);
}

/// A config with its predicted time.
struct Ranked {
  UnpackMmaConfig config;
  double us;
};

/// Every admitted combination of the tables, best first.
std::vector<Ranked> ranked(const SpmmQuery& query) {
  std::vector<Ranked> list;
  for (const Terms& terms : all_terms(query))
    for (const Shape& shape : shapes_for(query))
      for (const int stages : stage_counts)
        for (const int split_step : split_steps) {
          const UnpackMmaConfig config = config_of(query, terms, shape, stages, split_step);
          if (admits(query, config)) list.push_back({config, predict_us(query, config)});
        }
  std::stable_sort(list.begin(), list.end(), [](const Ranked& a, const Ranked& b) { return a.us < b.us; });
  return list;
}

}  // namespace

int usual_strip_pairs(const SpmmQuery& query, int strips) {
  const TopologyStatistics& s = query.statistics;
  const double places =
      static_cast<double>(std::max<std::int64_t>(s.rows, 1)) * static_cast<double>(std::max<std::int64_t>(s.cols, 1));
  const double density = std::min(1.0, static_cast<double>(s.nonzeros) / places);
  const double share = 1 - (1 - density) * (1 - density);
  const double pairs = packed_most_pairs() * share;
  // Rows vary together with their strip; pairs vary independently.
  const double room = pairs * (1 + 0.5 * s.row_variation) + (3 * std::sqrt(pairs) + 8) / std::sqrt(strips);
  constexpr double step = 16;
  return static_cast<int>(std::min<double>(packed_most_pairs(), std::ceil(room / step) * step));
}

UnpackMmaConfig smallest_config(const SpmmQuery& query) {
  const Shape shape = is_wide(query) ? smallest_wide_shape : narrow(query, smallest_narrow_shape);
  return config_of(query, all_terms(query).front(), shape, stage_counts.back(), split_steps.front());
}

UnpackMmaConfig default_config(const SpmmQuery& query) {
  const PackedMode mode = product_modes(query).front();
  for (const Ranked& candidate : ranked(query))
    if (candidate.config.mode == mode) return candidate.config;
  return smallest_config(query);
}

std::vector<UnpackMmaConfig> space(const SpmmQuery& query) {
  std::vector<UnpackMmaConfig> list = {default_config(query)};
  for (const Terms& terms : all_terms(query))
    for (const Shape& shape : shapes_for(query))
      for (const int stages : stage_counts)
        for (const int split_step : split_steps)
          add_variants(query, list, config_of(query, terms, shape, stages, split_step));
  return list;
}

std::vector<UnpackMmaConfig> short_list(const SpmmQuery& query) {
  constexpr std::size_t length = 16;
  std::vector<UnpackMmaConfig> list = {default_config(query)};
  for (const Ranked& candidate : ranked(query)) {
    if (list.size() == length) break;
    add_new(list, candidate.config);
  }
  return list;
}

}  // namespace vostok::ops::unpack_mma
