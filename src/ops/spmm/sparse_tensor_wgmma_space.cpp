// The space of sparse_tensor_wgmma as tables, and the default: the cost model's best config that the rules admit.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/sparse_tensor_wgmma.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::sparse_tensor_wgmma {

namespace {

/// A block's part of C, and the resident blocks of an SM.
struct Shape {
  int warpgroups;
  int tile_columns;
  int min_blocks;
};

constexpr std::array shapes = {Shape{2, 256, 1}, Shape{2, 128, 1}, Shape{1, 128, 2}, Shape{1, 256, 1},
                               Shape{1, 128, 1}, Shape{2, 64, 1},  Shape{1, 64, 2},  Shape{1, 64, 1}};
/// Passes of a strip for which stages have room: all of them, or those of strips in which few nonzeros share four
/// columns.
constexpr std::array pass_rooms = {sparse_steps() * sparse_most_passes(), 3};
constexpr std::array slicings = {Slicing{1, false}, Slicing{2, true},  Slicing{3, true},
                                 Slicing{4, true},  Slicing{4, false}, Slicing{8, false}};
constexpr std::array raster_row_counts = {8, 4, 16, 32};

/// Whether the copy engine copies B, the likely better first.
std::vector<bool> tensor_copies(const SpmmQuery& query) {
  if (lacks_tensor_maps(query) || is_past_tensor_maps(query)) return {false};
  return {true, false};
}

/// As many stages as fit with this many resident blocks on an SM, up to six.
int stages_that_fit(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  constexpr int most_stages = 6;
  SparseTensorWgmmaConfig one = config;
  one.stages = 1;
  const std::int64_t stage = shared_bytes(sparse_tensor::traits(query, launched_slices(config)), one);
  const int of_block =
      multiprocessor_of(query.device, multiprocessor_of_sm_90).shared_bytes / config.min_blocks - reserved_shared_bytes;
  return static_cast<int>(std::clamp<std::int64_t>(
      std::min(most_shared_bytes(query.device, block_shared_bytes_of_sm_90), of_block) / stage, 2, most_stages));
}

SparseTensorWgmmaConfig config_of(const SpmmQuery& query, const Shape& shape, int strip_passes, const Slicing& slicing,
                                  bool tensor_copies) {
  SparseTensorWgmmaConfig config = {.warpgroups = shape.warpgroups,
                                    .tile_columns = shape.tile_columns,
                                    .strip_passes = strip_passes,
                                    .k_split = slicing.k_split,
                                    .producer_warps = tensor_copies && shape.warpgroups == 1 ? 1 : 4,
                                    .min_blocks = shape.min_blocks,
                                    .stream_output = streams_output(query),
                                    .tensor_copies = tensor_copies,
                                    .cluster_sums = slicing.cluster_sums};
  config.stages = stages_that_fit(query, config);
  return config;
}

/// visit(config) for every combination of the tables except raster_rows.
template <class Visit>
void for_each_config(const SpmmQuery& query, Visit visit) {
  for (const Shape& shape : shapes)
    for (const int strip_passes : pass_rooms)
      for (const Slicing& slicing : slicings)
        for (const bool by_map : tensor_copies(query)) visit(config_of(query, shape, strip_passes, slicing, by_map));
}

/// Every admitted combination, best first.
std::vector<SparseTensorWgmmaConfig> admitted(const SpmmQuery& query) {
  std::vector<SparseTensorWgmmaConfig> all;
  for_each_config(query, [&](const SparseTensorWgmmaConfig& config) { all.push_back(config); });
  return ranked(
      all, [&](const SparseTensorWgmmaConfig& config) { return admits(query, config); },
      [&](const SparseTensorWgmmaConfig& config) { return predict_us(query, config); });
}

bool is_same_tile(const SparseTensorWgmmaConfig& a, const SparseTensorWgmmaConfig& b) {
  return a.warpgroups == b.warpgroups && a.tile_columns == b.tile_columns && a.min_blocks == b.min_blocks;
}

}  // namespace

SparseTensorWgmmaConfig smallest_config(const SpmmQuery& query) {
  return config_of(query, shapes.back(), pass_rooms.back(), slicings.front(), false);
}

SparseTensorWgmmaConfig default_config(const SpmmQuery& query) {
  const std::vector<SparseTensorWgmmaConfig> list = admitted(query);
  return list.empty() ? smallest_config(query) : list.front();
}

std::vector<SparseTensorWgmmaConfig> space(const SpmmQuery& query) {
  std::vector<SparseTensorWgmmaConfig> list = {default_config(query)};
  for_each_config(query, [&](SparseTensorWgmmaConfig config) {
    for (const int raster_rows : raster_row_counts) {
      config.raster_rows = raster_rows;
      add_new(list, config);
    }
  });
  return list;
}

std::vector<SparseTensorWgmmaConfig> short_list(const SpmmQuery& query) {
  constexpr std::size_t length = 12;
  constexpr int few = 5;
  std::vector<SparseTensorWgmmaConfig> list = {default_config(query)};
  for (const SparseTensorWgmmaConfig& candidate : admitted(query)) {
    if (list.size() == length) break;
    // Measured with 137 configs of five problems: threads that copy B are 2 % faster than the copy engine at best, and
    // up to 42 % slower.
    if (candidate.tensor_copies != list.front().tensor_copies) continue;
    // Slicings of the likely best tile would crowd out other tiles.
    if (std::count_if(list.begin(), list.end(),
                      [&](const SparseTensorWgmmaConfig& c) { return is_same_tile(c, candidate); }) >= few)
      continue;
    add_new(list, candidate);
    // The model is least sure of how tiles share what they read.
    SparseTensorWgmmaConfig other = candidate;
    other.raster_rows = 16;
    if (list.size() < length) add_new(list, other);
  }
  return list;
}

}  // namespace vostok::ops::sparse_tensor_wgmma
