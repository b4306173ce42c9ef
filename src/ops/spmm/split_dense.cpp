#include "ops/spmm/split_dense.hpp"

#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/grid.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/unpack_sum.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<SplitDenseTraits>(), "fields(SplitDenseTraits) must name every member");
static_assert(codegen::lists_every_field<SplitDenseConfig>(), "fields(SplitDenseConfig) must name every member");

constexpr std::int64_t part_alignment_bytes = 256;

/// Columns covered by tiles of B, over the whole batch and every k block.
std::int64_t covered_columns(const SpmmQuery& query, int tile_columns) {
  const std::int64_t columns = round_up(query.n.most, tile_columns);
  return checked_multiply(checked_multiply(packed_k_blocks(query.statistics.cols), query.problem.batch, "tiles of B"),
                          columns, "tiles of B");
}

/// Blocks that would make all columns of their tiles.
std::int64_t whole_tiles(const SpmmQuery& query, const SplitDense& what) {
  return ceil_div(query.n.most, what.tile_columns) *
         ceil_div(packed_k_blocks(query.statistics.cols), what.scale_blocks) * query.problem.batch;
}

/// Large blocks wait for their loads, for each other and for their stores, one after the other: where there are many,
/// two of half the size share a multiprocessor.
SplitDenseConfig config_of(const SpmmQuery& query, const SplitDense& what) {
  constexpr std::int64_t many = 4;
  const auto multiprocessors = static_cast<std::int64_t>(machine_of(query).multiprocessors);
  const bool halves = what.tile_columns == 64 && what.scale_blocks > 1 &&
                      query.problem.dense_layout == Layout::row_major &&
                      whole_tiles(query, what) >= many * multiprocessors;
  SplitDenseConfig config = {.tile_columns = what.tile_columns,
                             .scale_blocks = what.scale_blocks,
                             .block_columns = halves ? what.tile_columns / 2 : what.tile_columns};
  config.threads = 256 * what.scale_blocks / blocks_across(config);
  return config;
}

struct Binding {
  std::int64_t k;
  std::int64_t batch;
  Layout layout;
  std::int64_t leading;  ///< the problem's: 0 where packed
  std::int64_t stride;
  std::int64_t tiles_offset_bytes;
  std::int64_t scales_offset_bytes;
  int tile_columns;
  int scale_blocks;
  int blocks_across;

  device::Dim3 operator()(const SpmmArguments& call, SplitDenseArgs& args) const {
    const StoredMatrix b = stored_matrix(layout, k, call.n, leading, stride);
    const std::int64_t column_tiles = ceil_div(call.n, tile_columns);
    args = {.dense = call.dense,
            .tiles = static_cast<unsigned char*>(workspace_at(call.workspace, tiles_offset_bytes)),
            .column_scales = static_cast<float*>(workspace_at(call.workspace, scales_offset_bytes)),
            .n = call.n,
            .k = k,
            .leading = b.leading,
            .stride = b.stride,
            .column_tiles = static_cast<unsigned>(column_tiles),
            .k_blocks = static_cast<unsigned>(packed_k_blocks(k)),
            .batch = static_cast<unsigned>(batch)};
    return grid_of(column_tiles * blocks_across, ceil_div(packed_k_blocks(k), scale_blocks) * batch);
  }
};

}  // namespace

std::optional<std::string> split_dense_declined(const SpmmQuery& query, const SplitDense& what) {
  constexpr std::int64_t most_across = 2;  // blocks of half a tile
  const std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();
  if (ceil_div(query.n.most, what.tile_columns) * most_across > most_blocks_on_x)
    return "the grid's x holds fewer tiles than B has columns of them";
  if (packed_k_blocks(query.statistics.cols) > most_rows / query.problem.batch)
    return "B has more tiles below one another than 32 bits number";
  return std::nullopt;
}

std::int64_t split_tiles_bytes(const SpmmQuery& query, PackedMode mode, int tile_columns) {
  const std::int64_t tiles = covered_columns(query, tile_columns) / tile_columns;
  return checked_multiply(tiles, split_tile_bytes(mode, tile_columns), "bytes of B's tiles");
}

std::int64_t split_scales_bytes(const SpmmQuery& query, PackedMode mode, int tile_columns) {
  if (!packed_scales_rows(mode)) return 0;
  return round_up(checked_multiply(covered_columns(query, tile_columns), sizeof(float), "bytes of B's scales"),
                  part_alignment_bytes);
}

Launch split_dense_launch(const SpmmQuery& query, const SplitDense& what) {
  const Spmm& problem = query.problem;
  const SplitDenseTraits traits = {.element = problem.element,
                                   .mode = what.mode,
                                   .layout = problem.dense_layout,
                                   .alignment = dense_alignment(query),
                                   .batched = problem.batch > 1,
                                   .marked = certifies(query) && packed_scales_rows(what.mode)};
  const SplitDenseConfig config = config_of(query, what);
  codegen::KernelRequest request = {
      .family = "split_dense",
      .header = "spmm/split_dense.h",
      .expression = codegen::name_expression("split_dense", "SplitDenseTraits", traits, "SplitDenseConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = shared_bytes(traits, config)};
  const Binding binding = {.k = query.statistics.cols,
                           .batch = problem.batch,
                           .layout = problem.dense_layout,
                           .leading = problem.dense_leading,
                           .stride = problem.dense_stride,
                           .tiles_offset_bytes = what.tiles_offset_bytes,
                           .scales_offset_bytes = what.scales_offset_bytes,
                           .tile_columns = what.tile_columns,
                           .scale_blocks = what.scale_blocks,
                           .blocks_across = blocks_across(config)};
  const std::int64_t blocks = whole_tiles(query, what) * blocks_across(config);
  return Launch::of<SpmmArguments, SplitDenseArgs>(std::move(request), shape, binding).spread(query.device, blocks);
}

}  // namespace vostok::ops
