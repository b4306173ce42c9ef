// The space of sparse_tensor_mma as tables, and the default: the cost model's best config that the rules admit.
#include <algorithm>
#include <array>
#include <bit>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/sparse_tensor_mma.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::sparse_tensor_mma {

namespace {

/// Warps of a block and the part of the tile that each computes.
struct Shape {
  int row_warps;
  int column_warps;
  int warp_strips;
  int warp_columns;
};

/// The larger a warp's part of C, the more products share each load of A and B. The first ones are for large problems.
constexpr std::array wide_shapes = {Shape{2, 4, 4, 64}, Shape{2, 2, 4, 64}, Shape{2, 4, 4, 32}, Shape{4, 1, 4, 64},
                                    Shape{2, 2, 2, 64}, Shape{2, 2, 2, 32}, Shape{4, 1, 1, 32}, Shape{2, 2, 1, 32}};

/// For n of at most 32: warp_columns is n rounded up.
constexpr std::array narrow_shapes = {Shape{4, 1, 4, 0}, Shape{4, 1, 2, 0}, Shape{4, 1, 1, 0}, Shape{2, 1, 1, 0}};

constexpr std::array stage_counts = {3, 4, 2};
constexpr std::array pass_rooms = {sparse_steps() * sparse_most_passes(), 3};
constexpr std::array raster_row_counts = {8, 2, 32};

/// Slices of k, relative to the number that fills the device once.
constexpr std::array split_steps = {0, 1, -1};

std::vector<Shape> shapes_for(const SpmmQuery& query) {
  if (query.n.most > 32) return {wide_shapes.begin(), wide_shapes.end()};
  std::vector<Shape> list(narrow_shapes.begin(), narrow_shapes.end());
  const auto columns =
      static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(query.n.most, 8, 32))));
  for (Shape& shape : list) shape.warp_columns = columns;
  return list;
}

std::int64_t tiles(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return ceil_div(query.statistics.rows, tile_rows(config)) * ceil_div(query.n.most, tile_columns(config)) *
         query.problem.batch;
}

/// Slices that fill the device once.
int filling_split(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  constexpr std::int64_t least_slice_blocks = 8;
  const auto room = static_cast<std::int64_t>(machine_of(query).multiprocessors) * config.min_blocks;
  int split = 1;
  while (split < 32 && tiles(query, config) * split * 2 <= room &&
         sparse_tensor::k_blocks(query) >= 2 * least_slice_blocks * split)
    split *= 2;
  return split;
}

SparseTensorMmaConfig config_of(const SpmmQuery& query, const Shape& shape, int stages, int strip_passes,
                                int split_step) {
  constexpr int most_blocks = 8;
  SparseTensorMmaConfig config = {.row_warps = shape.row_warps,
                                  .column_warps = shape.column_warps,
                                  .warp_strips = shape.warp_strips,
                                  .warp_columns = shape.warp_columns,
                                  .stages = stages,
                                  .strip_passes = strip_passes,
                                  .stream_output = streams_output(query)};
  config.min_blocks = std::clamp(resident_blocks(query, config), 1, most_blocks);
  const int split = filling_split(query, config);
  const int wanted = split_step >= 0 ? split << split_step : std::max(1, split >> -split_step);
  config.k_split = static_cast<int>(filled_parts(sparse_tensor::k_blocks(query), wanted));
  return config;
}

/// visit(config) for every combination of the tables except raster_rows.
template <class Visit>
void for_each_config(const SpmmQuery& query, Visit visit) {
  for (const Shape& shape : shapes_for(query))
    for (const int stages : stage_counts)
      for (const int strip_passes : pass_rooms)
        for (const int split_step : split_steps) visit(config_of(query, shape, stages, strip_passes, split_step));
}

/// Every admitted combination, best first.
std::vector<SparseTensorMmaConfig> admitted(const SpmmQuery& query) {
  std::vector<SparseTensorMmaConfig> all;
  for_each_config(query, [&](const SparseTensorMmaConfig& config) { all.push_back(config); });
  return ranked(
      all, [&](const SparseTensorMmaConfig& config) { return admits(query, config); },
      [&](const SparseTensorMmaConfig& config) { return predict_us(query, config); });
}

}  // namespace

SparseTensorMmaConfig smallest_config(const SpmmQuery& query) {
  return config_of(query, shapes_for(query).back(), stage_counts.back(), pass_rooms.back(), split_steps.front());
}

SparseTensorMmaConfig default_config(const SpmmQuery& query) {
  const std::vector<SparseTensorMmaConfig> list = admitted(query);
  return list.empty() ? smallest_config(query) : list.front();
}

std::vector<SparseTensorMmaConfig> space(const SpmmQuery& query) {
  std::vector<SparseTensorMmaConfig> list = {default_config(query)};
  for_each_config(query, [&](SparseTensorMmaConfig config) {
    for (const int raster_rows : raster_row_counts) {
      config.raster_rows = raster_rows;
      add_new(list, config);
    }
  });
  return list;
}

std::vector<SparseTensorMmaConfig> short_list(const SpmmQuery& query) {
  constexpr std::size_t length = 12;
  std::vector<SparseTensorMmaConfig> list = {default_config(query)};
  for (const SparseTensorMmaConfig& candidate : admitted(query)) {
    if (list.size() == length) break;
    add_new(list, candidate);
  }
  return list;
}

}  // namespace vostok::ops::sparse_tensor_mma
