// The space of wgmma_sample as tables. Large tiles read operands less often; small ones fill the device if there are
// few tiles.
#include <algorithm>
#include <array>

#include "ops/config_list.hpp"
#include "ops/machine.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sample_ranking.hpp"
#include "ops/sddmm/wgmma_sample.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::wgmma_sample {

namespace {

struct Shape {
  int warpgroups;
  int tile_columns;
};

constexpr std::array shapes = {Shape{2, 256}, Shape{3, 128}, Shape{2, 128}, Shape{3, 64},
                               Shape{2, 64},  Shape{1, 128}, Shape{1, 64},  Shape{1, 32}};
constexpr Shape smallest_shape = shapes.back();

/// Whether a warpgroup's registers hold the tile's sums twice and, in two terms, an n block of A.
bool splits_operands_of(const Shape& shape) { return shape.warpgroups <= 2 && shape.tile_columns <= 128; }

std::vector<int> stage_counts(PackedMode mode) {
  if (mode == PackedMode::tf32x3) return {4, 6, 8, 3};  // of half an n block
  return {3, 2, 4, 6};
}

/// 2 evens out tiles of different work.
constexpr std::array wave_counts = {1, 2, 0};

/// Number of parts of n, relative to the number that fills the device once.
constexpr std::array split_factors = {1, 2, 4};

/// How the n blocks of a tile are walked.
struct Loop {
  bool tensor_copies;
  int promotion_blocks;
};

/// The likely best first.
std::vector<Loop> loops(const SddmmQuery& query, PackedMode mode) {
  constexpr int rarely = 16;  // of 16-bit elements: one pass over all sums in 16 n blocks is not to be seen
  if (sampled::traits(query).one_block) return {{false, 1}};
  if (mode == PackedMode::tf32x3) return {{true, 1}};
  if (query.problem.element == Dtype::f32) {
    if (mode != sampled::modes(query).front()) return {{false, 1}};
    return {{false, 1}, {false, 2}};
  }
  const bool in_place = takes_tensor_maps(query);
  return {{in_place, 0}, {in_place, rarely}};
}

int promotion_steps(const SddmmQuery& query) { return sampled::traits(query).one_block ? 0 : steps_of_block(); }

bool takes_turns(PackedMode mode, const Shape& shape, const Loop& loop) {
  return shape.warpgroups > 1 && loop.promotion_blocks == 1 && mode != PackedMode::tf32x3;
}

std::vector<PackedMode> modes(const SddmmQuery& query) {
  std::vector<PackedMode> list = sampled::modes(query);
  if (splits_in_place(query)) list.push_back(PackedMode::tf32x3);
  return list;
}

WgmmaSampleConfig shaped(const SddmmQuery& query, PackedMode mode, const Shape& shape, const Loop& loop) {
  WgmmaSampleConfig config = {.mode = mode,
                              .warpgroups = shape.warpgroups,
                              .tile_columns = shape.tile_columns,
                              .takes_turns = takes_turns(mode, shape, loop),
                              .promotion_blocks = loop.promotion_blocks,
                              .tensor_copies = loop.tensor_copies};
  config.list_room =
      sampled::list_room(query, tile_shape(config), std::min(16384, tile_rows(config) * tile_columns(config)));
  return config;
}

/// The wanted room, or what shared memory leaves of it.
WgmmaSampleConfig with_room(const SddmmQuery& query, WgmmaSampleConfig config) {
  constexpr int least_room = 256;
  while (config.list_room > least_room && !admits(query, config)) config.list_room /= 2;
  return config;
}

/// As many resident blocks on an SM as shared memory and registers allow.
WgmmaSampleConfig with_blocks(const SddmmQuery& query, WgmmaSampleConfig config) {
  for (config.min_blocks = 6; config.min_blocks > 1; --config.min_blocks)
    if (admits(query, config)) return config;
  return config;
}

/// Whether there are more tiles than resident blocks. If not, each block has one tile for any number of waves.
bool shares_tiles(const SddmmQuery& query, const WgmmaSampleConfig& config) {
  const double tiles =
      sampled::expected_tiles(query, tile_shape(config)) * static_cast<double>(query.problem.batch * config.n_split);
  return tiles > machine_of(query).multiprocessors * config.min_blocks;
}

/// Configs of one shape.
std::vector<WgmmaSampleConfig> variants(const SddmmQuery& query, const WgmmaSampleConfig& base) {
  std::vector<WgmmaSampleConfig> list;
  // Rows of tiles end inside the sectors that stores fill, and the next tile's stores should still find them in L2.
  // So streaming comes second.
  const bool may_stream = promotion_steps(query) == 0 && streams_output(query);
  const auto add = [&](WgmmaSampleConfig config) {
    for (const bool stream : {false, true})
      for (const bool turns : {true, false}) {
        config.takes_turns = turns && base.takes_turns;
        config.stream_output = stream && may_stream;
        add_new(list, config);
      }
  };
  const int least = sampled::least_split(query, promotion_steps(query));
  for (const int stages : stage_counts(base.mode))
    for (const int waves : wave_counts) {
      WgmmaSampleConfig config = base;
      config.stages = stages;
      config.waves = waves;
      config.n_split = least;
      config = with_blocks(query, with_room(query, config));
      if (waves > 0 && !shares_tiles(query, config)) continue;
      const int filling = sampled::filling_split(query, tile_shape(config), config.min_blocks, least);
      for (const int factor : split_factors) {
        config.n_split = filling * factor;
        add(config);
        config.n_split = std::max(least, filling / factor);
        add(config);
      }
    }
  return list;
}

std::vector<WgmmaSampleConfig> every_config(const SddmmQuery& query) {
  std::vector<WgmmaSampleConfig> list;
  for (const PackedMode mode : modes(query))
    for (const Loop& loop : loops(query, mode))
      for (const Shape& shape : shapes)
        if (mode != PackedMode::tf32x3 || splits_operands_of(shape))
          append(list, variants(query, shaped(query, mode, shape, loop)));
  return list;
}

/// The admitted configs, cheapest prediction first.
std::vector<WgmmaSampleConfig> ranked(const SddmmQuery& query) {
  return ops::ranked(
      every_config(query), [&](const WgmmaSampleConfig& config) { return admits(query, config); },
      [&](const WgmmaSampleConfig& config) { return predict_us(query, config); });
}

/// Whether two configs differ only in what is easy to guess: depth of stages, and how n or tiles are distributed.
bool alike(const WgmmaSampleConfig& a, const WgmmaSampleConfig& b) {
  return a.mode == b.mode && a.warpgroups == b.warpgroups && a.tile_columns == b.tile_columns &&
         a.takes_turns == b.takes_turns && a.stream_output == b.stream_output &&
         a.promotion_blocks == b.promotion_blocks && a.tensor_copies == b.tensor_copies;
}

}  // namespace

WgmmaSampleConfig smallest_config(const SddmmQuery& query) {
  WgmmaSampleConfig config = shaped(query, sampled::modes(query).front(), smallest_shape, {false, 1});
  config.stages = 2;
  config.n_split = sampled::least_split(query, promotion_steps(query));
  return with_room(query, config);
}

WgmmaSampleConfig default_config(const SddmmQuery& query) {
  const std::vector<WgmmaSampleConfig> list = ranked(query);
  return list.empty() ? smallest_config(query) : list.front();
}

std::vector<WgmmaSampleConfig> space(const SddmmQuery& query) {
  return first_and_others(default_config(query), every_config(query));
}

std::vector<WgmmaSampleConfig> short_list(const SddmmQuery& query) {
  std::vector<WgmmaSampleConfig> list = sampled::few_of_each(ranked(query), alike);
  if (list.empty()) list.push_back(smallest_config(query));
  return list;
}

}  // namespace vostok::ops::wgmma_sample
