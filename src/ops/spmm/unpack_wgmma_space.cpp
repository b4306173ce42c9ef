// The space of unpack_wgmma as tables, and the default: the cost model's best config that the rules admit.
#include <algorithm>
#include <array>
#include <span>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/limits.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/unpack_mma.hpp"
#include "ops/spmm/unpack_wgmma.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::unpack_wgmma {

namespace {

struct Warpgroups {
  int of_group;
  int groups;
};
constexpr std::array<Warpgroups, 6> warpgroup_counts = {{{2, 1}, {1, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 4}}};
constexpr std::array column_counts = {64, 128, 256, 32, 16, 8};
constexpr std::array blocks_of_multiprocessor = {1, 2, 3, 4};
constexpr std::array slicings = {Slicing{1, false}, Slicing{2, true},  Slicing{3, true},  Slicing{4, true},
                                 Slicing{8, true},  Slicing{3, false}, Slicing{4, false}, Slicing{6, false},
                                 Slicing{8, false}, Slicing{16, false}};
constexpr int most_raster_rows = 32;
constexpr std::array raster_row_counts = {8, most_raster_rows, 2};

/// A way of bringing B to shared memory.
struct DenseWay {
  bool prepare_dense;
  bool tensor_copies;
  int producer_warps = 4;  ///< more than four if threads do more than copy
};

/// Every way, the likely better first. 16-bit elements are copied in place if possible, by the copy engine if it can;
/// f32 elements are prepared, or split by the block, which loads them or has them brought.
std::vector<DenseWay> dense_ways(const SpmmQuery& query) {
  constexpr DenseWay prepared{true, false};
  constexpr DenseWay by_threads{false, false};
  constexpr DenseWay by_map{false, true};
  constexpr DenseWay transposed{true, true};
  constexpr DenseWay split_by_four{false, false, 4};
  constexpr DenseWay split_by_eight{false, false, 8};
  constexpr DenseWay copied_and_split_by_four{false, true, 4};
  constexpr DenseWay copied_and_split_by_eight{false, true, 8};
  if (dense_alignment(query) < 16) return {prepared};
  const bool lacks_maps = lacks_tensor_maps(query) || is_past_tensor_maps(query);
  if (query.problem.element == Dtype::f32) {
    if (lacks_maps || query.problem.dense_layout == Layout::column_major)
      return {prepared, split_by_four, split_by_eight};
    return {prepared, split_by_four, split_by_eight, copied_and_split_by_four, copied_and_split_by_eight};
  }
  if (lacks_maps) return {by_threads, prepared};
  if (query.problem.dense_layout == Layout::column_major) return {by_map, by_threads, prepared, transposed};
  return {by_map, by_threads, prepared};
}

/// Grains of strips: fours where few nonzeros are left over, which grow with the square of the density. In f32 they
/// halve what limits, the multiplications; of 16 bits only A's share of the copies
/// (bench/notes/fours.md#fours-of-16-bits). Whole strips, whose zeros often cost less than unpacking
/// (bench/notes/whole_strips.md#what-it-gained), where they have room.
std::vector<PackedGrain> grains(const SpmmQuery& query) {
  const bool is_f32 = query.problem.element == Dtype::f32;
  const double most_fours = is_f32 ? 0.25 : 0.105;
  const double elements = static_cast<double>(query.statistics.rows) * static_cast<double>(query.statistics.cols);
  std::vector<PackedGrain> list = {PackedGrain::pair};
  if (static_cast<double>(query.statistics.nonzeros) <= most_fours * elements) list.push_back(PackedGrain::four);
  if (!packed_strips_declined(query.statistics, PackedGrain::whole)) list.push_back(PackedGrain::whole);
  return list;
}

/// Whether the config's grain may pay: fours of 16 bits where what is left over comes in batches, in wide tiles; of f32
/// not where the copy engine brings what blocks split, which limits, and not the multiplications that fours halve.
/// Whole strips where no thread copies B.
bool grain_may_pay(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  if (takes_whole(config)) return !copies_by_threads(config) && config.overlap == (config.promotion_blocks == 0);
  if (takes_fours(config) && copies_units(config)) return false;
  return !batches_left_over(config) || (can_batch(stage_traits(query, config), config) && config.tile_columns >= 128);
}

/// The tables' entries that the space tries with a grain: for fours and whole strips, those that won somewhere and
/// their neighbours. With half the multiplications, or nothing to unpack, a k block leaves less to distribute among
/// groups.
std::span<const Warpgroups> warpgroups_tried(PackedGrain grain) {
  return std::span(warpgroup_counts).first(grain == PackedGrain::pair ? warpgroup_counts.size() : 4);
}
std::span<const int> raster_rows_tried(PackedGrain grain) {
  return std::span(raster_row_counts)
      .first(grain == PackedGrain::pair   ? raster_row_counts.size()
             : grain == PackedGrain::four ? 2
                                          : 1);
}

/// Pairs for which a stage has room: those of every strip, so that none is read from global memory, or the usual
/// number, which allows more stages.
std::vector<int> strip_rooms(const SpmmQuery& query, PackedGrain grain) {
  // Pairs of fours take half the room: no choice of them had less (bench/notes/fours.md#what-fours-reached).
  if (grain != PackedGrain::pair) return {packed_most(grain)};
  const int usual = unpack_mma::usual_strip_pairs(query);
  if (usual * 4 > packed_most_pairs() * 3) return {packed_most_pairs()};
  return {packed_most_pairs(), usual};
}

/// k blocks between promotions. With column scales two keep the error bound of math = accurate and more do not, tf32's
/// four; bf16 terms gain up to four; plain 16-bit sums rounded to 16 bits hide what tensor cores truncate.
int promotion_blocks(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  if (packed_scales_rows(config.mode)) {
    if (can_keep_scales(stage_traits(query, config), config)) return 0;
    if (config.k_groups > 1 || !config.prepare_dense) return 1;
    const std::int64_t blocks = packed_k_blocks(query.statistics.cols);
    return terms(config) == 1 && blocks > 2 ? 4 : blocks > 1 ? 2 : 1;
  }
  if (config.tile_columns > 128) return 0;
  if (packed_pair_words(config.mode) == 2) return 4;
  return query.problem.output.value_or(query.problem.element) == Dtype::f32 ? 4 : 0;
}

/// As many stages as fit with this many resident blocks on an SM, up to six, and equally many for every group.
int stages_that_fit(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  constexpr int most_stages = 6;
  const int of_block =
      multiprocessor_of(query.device, multiprocessor_of_sm_90).shared_bytes / config.min_blocks - reserved_shared_bytes;
  const std::int64_t stage = stage_bytes(stage_traits(query, config), config) + 16;
  const int step = std::max(config.k_groups, splits_dense(config) ? split_block_step(config) : 1);
  const int least = std::max({2, config.k_groups * (config.overlap ? 2 : 1), step});
  const int rooms = config.dense_rooms * (dense_room_bytes(stage_traits(query, config), config) + 16);
  const int beside =
      rooms + config.kept_blocks * strip_stage_bytes(config) + copied_bytes(config) + left_over_bytes(config);
  const auto fitting = static_cast<int>(std::min<std::int64_t>(
      (std::min(most_shared_bytes(query.device, block_shared_bytes_of_sm_90), of_block) - beside) / stage,
      most_stages));
  return std::max(least, fitting / step * step);
}

/// Decides the fields that a shape leaves open.
UnpackWgmmaConfig complete(const SpmmQuery& query, UnpackWgmmaConfig config) {
  const bool takes_four = consumer_warps(config) > 4 || copies_by_threads(config) || batches_left_over(config);
  if (!splits_dense(config)) config.producer_warps = takes_four ? 4 : 1;
  config.promotion_blocks = promotion_blocks(query, config);
  config.stream_output = streams_output(query, usual_l2_bytes_of_sm_90);
  config.stream_strips = reads_strips_once(query, strip_kind(query, config), config.tile_columns);
  config.stages = stages_that_fit(query, config);
  return config;
}

/// Whether it may pay: blocks have several tiles each, and operands come without them. What fours of f32 leave over
/// would wait behind the next tile's copies.
bool may_persist(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  return (!takes_fours(config) || batches_left_over(config)) && (config.tensor_copies || config.prepare_dense) &&
         config.k_groups == 1 && shares_tiles(query, tile_rows(config), config.tile_columns, config.min_blocks);
}

/// The same whose A stays in registers from tile to tile, if all of it fits them.
std::optional<UnpackWgmmaConfig> with_kept_strips(const SpmmQuery& query, UnpackWgmmaConfig config) {
  constexpr std::int64_t most_kept = 8;
  const std::int64_t k_blocks = packed_k_blocks(query.statistics.cols);
  if (config.overlap || terms(config) > 1 || config.grain != PackedGrain::pair || splits_dense(config) ||
      k_blocks > most_kept)
    return std::nullopt;
  config.kept_blocks = static_cast<int>(k_blocks);
  config.stages = stages_that_fit(query, config);
  return config;
}

/// The same whose B stays in shared memory for all row tiles of its columns, if all of it fits there and columns fill
/// the device.
std::optional<UnpackWgmmaConfig> with_kept_dense(const SpmmQuery& query, UnpackWgmmaConfig config) {
  constexpr std::int64_t most_kept = 16;
  const std::int64_t k_blocks = packed_k_blocks(query.statistics.cols);
  const std::int64_t column_tiles = ceil_div(query.n.most, config.tile_columns) * query.problem.batch;
  if (!takes_whole(config) || !copies_units(config) || k_blocks > most_kept ||
      query.statistics.rows <= tile_rows(config) || column_tiles < filling_blocks(query, config.min_blocks))
    return std::nullopt;
  const auto take_rooms = [&](std::int64_t rooms) {
    config.dense_rooms = static_cast<int>(rooms);
    config.stages = stages_that_fit(query, config);
  };
  // Rooms beside those of all k blocks let the next columns be split while the last row tile is multiplied.
  constexpr int enough_stages = 5;
  for (std::int64_t rooms = std::min(2 * k_blocks, most_kept); rooms >= k_blocks; --rooms) {
    take_rooms(rooms);
    if (config.stages >= enough_stages) break;
  }
  return config;
}

/// visit(config) for every tile, preparation and number of resident blocks, with and without overlap.
template <class Visit>
void for_each_shape(const SpmmQuery& query, PackedGrain grain, int strip_pairs, Visit visit) {
  for (const PackedMode mode : product_modes(query))
    for (const auto [prepare_dense, tensor_copies, producer_warps] : dense_ways(query))
      for (const auto [warpgroups, k_groups] : warpgroups_tried(grain))
        for (const int tile_columns : column_counts)
          for (const int min_blocks : blocks_of_multiprocessor)
            for (const bool overlap : {true, false}) {
              UnpackWgmmaConfig config = complete(query, {.mode = mode,
                                                          .grain = grain,
                                                          .warpgroups = warpgroups,
                                                          .k_groups = k_groups,
                                                          .tile_columns = tile_columns,
                                                          .strip_pairs = strip_pairs,
                                                          .overlap = overlap,
                                                          .prepare_dense = prepare_dense,
                                                          .producer_warps = producer_warps,
                                                          .min_blocks = min_blocks,
                                                          .tensor_copies = tensor_copies});
              if (!grain_may_pay(query, config)) continue;
              visit(config);
              config.persistent = may_persist(query, config);
              if (!config.persistent) continue;
              visit(config);
              if (const auto keeping = with_kept_strips(query, config)) visit(*keeping);
              if (const auto keeping = with_kept_dense(query, config)) visit(*keeping);
            }
}

void cut(UnpackWgmmaConfig& config, const Slicing& slicing) {
  config.k_split = slicing.k_split;
  config.cluster_sums = slicing.cluster_sums;
}

struct Ranked {
  UnpackWgmmaConfig config;
  double us;
};

/// The cost model's best slicing of k for a shape, if the rules admit one.
std::optional<Ranked> best_slicing(const SpmmQuery& query, UnpackWgmmaConfig config) {
  if (!admits_tile(query, config)) return std::nullopt;
  std::optional<Ranked> best;
  for (const Slicing& slicing : slicings) {
    cut(config, slicing);
    if (!admits_slicing(query, config)) continue;
    const double us = predict_us(query, config);
    if (!best || us < best->us) best = Ranked{config, us};
  }
  return best;
}

/// The admitted shapes, each with its best slicing, the likely fastest first.
std::vector<Ranked> ranked_shapes(const SpmmQuery& query) {
  std::vector<Ranked> list;
  for (const PackedGrain grain : grains(query))
    for_each_shape(query, grain, packed_most(grain), [&](const UnpackWgmmaConfig& config) {
      if (const auto best = best_slicing(query, config)) list.push_back(*best);
    });
  std::stable_sort(list.begin(), list.end(), [](const Ranked& a, const Ranked& b) { return a.us < b.us; });
  return list;
}

/// Whether two configs have the same tile and rhythm; grain of A, way of B, slicing of k and persistence may differ.
bool is_same_shape(const UnpackWgmmaConfig& a, const UnpackWgmmaConfig& b) {
  return a.mode == b.mode && a.warpgroups == b.warpgroups && a.k_groups == b.k_groups &&
         a.tile_columns == b.tile_columns && a.min_blocks == b.min_blocks && a.overlap == b.overlap;
}

}  // namespace

UnpackWgmmaConfig smallest_config(const SpmmQuery& query) {
  return complete(query, {.mode = product_modes(query).front(),
                          .warpgroups = 1,
                          .tile_columns = 8,
                          .prepare_dense = dense_ways(query).front().prepare_dense});
}

UnpackWgmmaConfig default_config(const SpmmQuery& query) {
  const std::vector<Ranked> shapes = ranked_shapes(query);
  return shapes.empty() ? smallest_config(query) : shapes.front().config;
}

std::vector<UnpackWgmmaConfig> space(const SpmmQuery& query) {
  const UnpackWgmmaConfig standard = default_config(query);
  std::vector<UnpackWgmmaConfig> list = {standard};
  for (const PackedGrain grain : grains(query))
    for (const int strip_pairs : strip_rooms(query, grain))
      for_each_shape(query, grain, strip_pairs, [&](UnpackWgmmaConfig config) {
        for (const Slicing& slicing : slicings)
          for (const int raster_rows : raster_rows_tried(grain)) {
            if (config.persistent && slicing.k_split > 1) continue;
            // A block that keeps A walks a row of tiles, and one that keeps B a column.
            if ((config.kept_blocks > 0 || keeps_dense(config)) && raster_rows != raster_row_counts.front()) continue;
            cut(config, slicing);
            config.raster_rows = raster_rows;
            if (!(config == standard)) list.push_back(config);
          }
      });
  return list;
}

std::vector<UnpackWgmmaConfig> short_list(const SpmmQuery& query) {
  constexpr std::size_t most = 16;
  constexpr std::size_t half = most / 2;
  constexpr std::size_t few = 6;
  constexpr std::int64_t many_tiles = 4;
  std::vector<UnpackWgmmaConfig> list = {default_config(query)};
  UnpackWgmmaConfig twin = list.front();
  twin.persistent = !twin.persistent && may_persist(query, twin);
  twin.kept_blocks = 0;
  twin.dense_rooms = 0;
  twin.stages = stages_that_fit(query, twin);
  if (!forbidden(query, twin)) add_new(list, twin);
  const std::vector<Ranked> shapes = ranked_shapes(query);
  const auto add_best = [&](auto is_one) {
    const auto best = std::find_if(shapes.begin(), shapes.end(), [&](const Ranked& s) { return is_one(s.config); });
    if (best != shapes.end()) add_new(list, best->config);
  };
  // The best config of each grain, and of those that keep A or B, is measured whatever the model predicts: grains
  // differ by a third, either way.
  for (const PackedGrain grain : grains(query)) add_best([&](const UnpackWgmmaConfig& c) { return c.grain == grain; });
  add_best([](const UnpackWgmmaConfig& c) { return c.kept_blocks > 0; });
  add_best([](const UnpackWgmmaConfig& c) { return keeps_dense(c); });
  for (const Ranked& shape : shapes) {
    if (list.size() == most) break;
    // The best shape is listed with every way of B, other shapes only with the likely best: otherwise ways would crowd
    // out shapes.
    const auto listed = std::find_if(list.begin(), list.end(),
                                     [&](const UnpackWgmmaConfig& c) { return is_same_shape(c, shape.config); });
    if (listed != list.end() && listed != list.begin()) continue;
    // The best shape's other grain is not listed with every way either.
    const auto is_twin = [&](const UnpackWgmmaConfig& c) {
      return is_same_shape(c, shape.config) && c.grain == shape.config.grain;
    };
    if (shape.config.grain != list.front().grain && std::any_of(list.begin(), list.end(), is_twin)) continue;
    add_new(list, shape.config);
    // For the best shapes the model is least sure of the slicing of k and, for the very best, of how many stages
    // outweigh a strip that does not fit. It knows nothing of what tiles share in L2.
    if (list.size() > half) continue;
    UnpackWgmmaConfig other = shape.config;
    const int slices = other.k_split == 1 ? 2 : other.k_split / 2;
    cut(other, {slices, slices > 1});
    if (!forbidden(query, other)) add_new(list, other);
    if (list.size() > few) continue;
    if (query.n.most >= many_tiles * shape.config.tile_columns && shape.config.kept_blocks == 0 &&
        !keeps_dense(shape.config)) {
      other = shape.config;
      other.raster_rows = most_raster_rows;
      add_new(list, other);
    }
    other = shape.config;
    other.strip_pairs = strip_rooms(query, other.grain).back();
    other.stages = stages_that_fit(query, other);
    if (!forbidden(query, other)) add_new(list, other);
  }
  return list;
}

}  // namespace vostok::ops::unpack_wgmma
