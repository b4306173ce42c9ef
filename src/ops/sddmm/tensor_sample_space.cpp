// The space of tensor_sample as tables. Large tiles read operands through L2 less often; small ones fill the device if
// there are few tiles. If n is short, tiles of A stay in registers or shared memory and a block computes several tiles.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sample_ranking.hpp"
#include "ops/sddmm/tensor_sample.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::tensor_sample {

namespace {

/// Warps of a block and the part of the tile that each computes.
struct Shape {
  int row_warps;
  int column_warps;
  int warp_rows;
  int warp_columns;
};

constexpr std::array shapes = {Shape{2, 2, 64, 32}, Shape{2, 4, 64, 32}, Shape{4, 2, 32, 32}, Shape{4, 1, 32, 64},
                               Shape{2, 2, 32, 32}, Shape{4, 2, 32, 64}, Shape{4, 4, 32, 32}, Shape{2, 1, 16, 32}};
constexpr Shape smallest_shape = shapes.back();

constexpr std::array stage_counts = {3, 2, 4};

/// Ways to keep sums short enough for accuracy.
struct Promotion {
  int steps;
  bool low_first;
};

constexpr std::array promotions_of_two_terms = {Promotion{2, false}, Promotion{4, true}};
constexpr std::array promotions_of_one_term = {Promotion{4, false}, Promotion{0, false}};

/// Tiles of a block, if A stays.
constexpr std::array tile_counts = {8, 16, 32, 4};

/// Number of parts of n, relative to the number that fills the device once.
constexpr std::array split_factors = {1, 2, 4};

std::vector<Promotion> promotions(PackedMode mode) {
  if (sample_terms(mode) == 2) return {promotions_of_two_terms.begin(), promotions_of_two_terms.end()};
  return {promotions_of_one_term.begin(), promotions_of_one_term.end()};
}

TensorSampleConfig shaped(const SddmmQuery& query, PackedMode mode, const Shape& shape, const Promotion& promotion) {
  TensorSampleConfig config = {.mode = mode,
                               .row_warps = shape.row_warps,
                               .column_warps = shape.column_warps,
                               .warp_rows = shape.warp_rows,
                               .warp_columns = shape.warp_columns,
                               .promotion_steps = promotion.steps,
                               .low_first = promotion.low_first,
                               .stream_output = streams_output(query)};
  config.list_room =
      sampled::list_room(query, tile_shape(config), std::min(4096, tile_rows(config) * tile_columns(config)));
  return config;
}

/// As many resident blocks on an SM as shared memory and registers allow.
TensorSampleConfig with_blocks(const SddmmQuery& query, TensorSampleConfig config) {
  for (config.min_blocks = 8; config.min_blocks > 1; --config.min_blocks)
    if (admits(query, config)) return config;
  return config;
}

/// Configs of one shape: A is streamed, with n in parts, or stays.
std::vector<TensorSampleConfig> variants(const SddmmQuery& query, const TensorSampleConfig& base) {
  std::vector<TensorSampleConfig> list;
  const auto add = [&](const TensorSampleConfig& config) { add_new(list, config); };
  for (const int stages : stage_counts) {
    TensorSampleConfig config = base;
    config.stages = stages;
    config = with_blocks(query, config);
    const int least = sampled::least_split(query, config.promotion_steps);
    const int filling = sampled::filling_split(query, tile_shape(config), config.min_blocks, least);
    for (const int factor : split_factors) {
      config.n_split = filling * factor;
      add(config);
      config.n_split = std::max(least, filling / factor);
      add(config);
    }
    if (sampled::n_blocks(query) > 4) continue;
    for (const int tiles : tile_counts) {
      TensorSampleConfig kept = base;
      kept.stages = stages;
      kept.kept_blocks = static_cast<int>(sampled::n_blocks(query));
      kept.tiles_per_block = tiles;
      add(with_blocks(query, kept));
    }
  }
  return list;
}

std::vector<TensorSampleConfig> every_config(const SddmmQuery& query) {
  std::vector<TensorSampleConfig> list;
  for (const PackedMode mode : sampled::modes(query))
    for (const Shape& shape : shapes)
      for (const Promotion& promotion : promotions(mode))
        append(list, variants(query, shaped(query, mode, shape, promotion)));
  return list;
}

/// The admitted configs, cheapest prediction first.
std::vector<TensorSampleConfig> ranked(const SddmmQuery& query) {
  return ops::ranked(
      every_config(query), [&](const TensorSampleConfig& config) { return admits(query, config); },
      [&](const TensorSampleConfig& config) { return predict_us(query, config); });
}

/// Whether two configs differ only in what is easy to guess: depth of stages, and how n or tiles are distributed.
bool alike(const TensorSampleConfig& a, const TensorSampleConfig& b) {
  return a.mode == b.mode && a.row_warps == b.row_warps && a.column_warps == b.column_warps &&
         a.warp_rows == b.warp_rows && a.warp_columns == b.warp_columns && a.low_first == b.low_first &&
         (a.kept_blocks == 0) == (b.kept_blocks == 0);
}

}  // namespace

TensorSampleConfig smallest_config(const SddmmQuery& query) {
  const PackedMode mode = sampled::modes(query).front();
  TensorSampleConfig config = shaped(query, mode, smallest_shape, promotions(mode).back());
  if (config.promotion_steps == 0) config.promotion_steps = steps_of_block();
  config.n_split = sampled::least_split(query, config.promotion_steps);
  return config;
}

TensorSampleConfig default_config(const SddmmQuery& query) {
  const std::vector<TensorSampleConfig> list = ranked(query);
  return list.empty() ? smallest_config(query) : list.front();
}

std::vector<TensorSampleConfig> space(const SddmmQuery& query) {
  return first_and_others(default_config(query), every_config(query));
}

std::vector<TensorSampleConfig> short_list(const SddmmQuery& query) {
  std::vector<TensorSampleConfig> list = sampled::few_of_each(ranked(query), alike);
  if (list.empty()) list.push_back(smallest_config(query));
  return list;
}

}  // namespace vostok::ops::tensor_sample
