// The space of nonzero_split as tables. Nothing of it is measured yet: it holds what the cost model and row_tile's
// measurements (bench/notes/row_tile.md#shapes-that-win) leave open.
#include <algorithm>
#include <array>
#include <span>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/nonzero_split.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::nonzero_split {

namespace {

using csr_product::Preparation;
using csr_product::preparations;

/// How lanes of a warp share columns; its other lanes work on further chunks.
struct Shape {
  int threads_per_row;
  int parts;  ///< of dense_vector columns per lane

  friend bool operator==(const Shape&, const Shape&) = default;
};

constexpr std::array shapes = {Shape{32, 1}, Shape{32, 2}, Shape{16, 1}, Shape{16, 2},
                               Shape{8, 1},  Shape{8, 2},  Shape{32, 4}};

constexpr std::array chunk_sizes = {32, 64, 128, 256};

constexpr std::array block_threads = {256, 128, 512};

struct Steps {
  int tile_nonzeros;
  bool prefetch;
};

constexpr std::array steps = {Steps{64, true}, Steps{128, true}, Steps{256, false}};

/// Entries whose rows of B are in flight together.
struct Batches {
  int loads_in_flight;
  bool overlap;
};

constexpr std::array batches = {Batches{8, false}, Batches{4, true}, Batches{8, true}, Batches{16, false}};

/// Resident threads of an SM: 128 registers each. As for row_tile, where more threads never won.
constexpr int resident_threads = 512;

constexpr int warp_lanes = 32;

/// The fields that all configs of this query and preparation share.
NonzeroSplitConfig common(const SpmmQuery& query, const Preparation& preparation) {
  const NonzeroSplitTraits t = traits(query);
  return {.sparse_vector = csr_product::widest_sparse_vector(query, t, preparation),
          .dense_vector = csr_product::widest_dense_vector(query, t, preparation),
          .column_edge = ColumnEdge::clamped,
          .stream_output = streams_output(query),
          .prepare_dense = preparation.prepare_dense,
          .pack_values = preparation.pack_values};
}

/// A block of about this many threads. Few lanes mean many chunks, each with entries and pieces in shared memory: fewer
/// chunks if blocks would not fit on every device.
NonzeroSplitConfig with_block(const SpmmQuery& query, NonzeroSplitConfig config, const Shape& shape,
                              int threads_per_block) {
  config.threads_per_row = shape.threads_per_row;
  config.tile_columns = shape.threads_per_row * shape.parts * config.dense_vector;
  config.chunks_per_block = threads_per_block / shape.threads_per_row;
  while (shared_bytes(traits(query), config) > block_shared_bytes_of_any && threads(config) > warp_lanes)
    config.chunks_per_block /= 2;
  const int least = std::max(config.loads_in_flight, config.sparse_vector);
  while (shared_bytes(traits(query), config) > block_shared_bytes_of_any && config.tile_nonzeros > least)
    config.tile_nonzeros /= 2;
  config.min_blocks = std::max(1, resident_threads / threads(config));
  return config;
}

NonzeroSplitConfig with_steps(NonzeroSplitConfig config, const Steps& step, const Batches& batch) {
  config.tile_nonzeros = step.tile_nonzeros;
  config.prefetch_sparse = step.prefetch;
  config.loads_in_flight = batch.loads_in_flight;
  config.overlap_batches = batch.overlap;
  return config;
}

/// A shape as wide as n or a warp, with as many lanes as that needs.
Shape widest_shape(const SpmmQuery& query, int dense_vector) {
  return {std::max(1, csr_product::rounded_columns(query, warp_lanes * dense_vector) / dense_vector), 1};
}

/// Items of a chunk, so that there are two chunks for every place on the device.
int fitting_chunk_items(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  constexpr std::int64_t rounds = 2;
  const auto multiprocessors = static_cast<std::int64_t>(machine_of(query).multiprocessors);
  const std::int64_t places = multiprocessors * resident_threads / config.threads_per_row * rounds;
  const std::int64_t tiles = ceil_div(query.n.most, config.tile_columns) * query.problem.batch;
  const std::int64_t items = (query.statistics.rows + query.statistics.nonzeros) * tiles / places;
  int fitting = chunk_sizes.front();
  for (const int size : chunk_sizes)
    if (size <= items) fitting = size;
  return fitting;
}

NonzeroSplitConfig usual_of(const SpmmQuery& query, const Preparation& preparation) {
  NonzeroSplitConfig config = common(query, preparation);
  const Shape shape = widest_shape(query, config.dense_vector);
  // Eight entries a lane and step, within limits on the chunk's length.
  config = with_steps(config, {std::clamp(8 * shape.threads_per_row, 16, 128), true}, batches.front());
  config = with_block(query, config, shape, block_threads.front());
  config.chunk_items = fitting_chunk_items(query, config);
  while (config.loads_in_flight > 1 && !fits_registers(query, config)) config.loads_in_flight /= 2;
  return config;
}

/// The short list's entries beside the default, by what they differ in.
struct Choice {
  Shape shape;
  int chunk_items;
  int threads_per_block;
  Steps step;
  Batches batch;
  Raster raster;
};

constexpr std::array choices = {
    Choice{{32, 1}, 128, 256, {128, true}, {8, false}, Raster::rows_first},
    Choice{{32, 1}, 64, 128, {128, true}, {8, true}, Raster::columns_first},
    Choice{{8, 1}, 64, 256, {64, true}, {8, false}, Raster::rows_first},
    Choice{{8, 1}, 32, 128, {64, true}, {4, true}, Raster::columns_first},
    Choice{{16, 1}, 64, 256, {128, true}, {8, false}, Raster::rows_first},
    Choice{{16, 1}, 32, 128, {64, true}, {8, true}, Raster::columns_first},
    Choice{{32, 2}, 64, 256, {128, true}, {4, true}, Raster::columns_first},
    Choice{{32, 1}, 256, 256, {256, false}, {16, false}, Raster::rows_first},
    Choice{{16, 2}, 128, 256, {128, true}, {4, true}, Raster::rows_first},
    Choice{{8, 1}, 128, 512, {64, true}, {8, true}, Raster::rows_first},
    Choice{{32, 1}, 128, 256, {64, true}, {4, true}, Raster::rows_first},
    Choice{{32, 4}, 32, 256, {64, true}, {4, false}, Raster::rows_first},
};

NonzeroSplitConfig chosen(const SpmmQuery& query, const NonzeroSplitConfig& base, const Choice& choice) {
  NonzeroSplitConfig config =
      with_block(query, with_steps(base, choice.step, choice.batch), choice.shape, choice.threads_per_block);
  config.chunk_items = choice.chunk_items;
  config.raster = choice.raster;
  return config;
}

/// All combinations of the tables.
std::vector<NonzeroSplitConfig> combinations_of(const SpmmQuery& query, const Preparation& preparation) {
  const NonzeroSplitConfig base = common(query, preparation);
  std::vector<Shape> all(shapes.begin(), shapes.end());
  const Shape widest = widest_shape(query, base.dense_vector);
  if (std::find(all.begin(), all.end(), widest) == all.end()) all.push_back(widest);
  std::vector<NonzeroSplitConfig> list;
  for (const Shape& shape : all)
    for (const int chunk_items : chunk_sizes)
      for (const int threads_per_block : block_threads)
        for (const Steps& step : steps)
          for (const Batches& batch : batches)
            for (const Raster raster : {Raster::rows_first, Raster::columns_first})
              add_new(list, chosen(query, base, {shape, chunk_items, threads_per_block, step, batch, raster}));
  return list;
}

/// Whether a small matrix leaves half of a block's chunks without items, or more, of so many columns that blocks wait
/// for one another.
bool is_mostly_idle(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  const std::int64_t items = query.statistics.rows + query.statistics.nonzeros;
  const std::int64_t tiles = ceil_div(query.n.most, config.tile_columns) * query.problem.batch;
  return 2 * ceil_div(items, config.chunk_items) <= config.chunks_per_block &&
         static_cast<double>(tiles) > machine_of(query).multiprocessors * config.min_blocks;
}

/// The usual config, or where that is mostly idle the cost model's best
/// (bench/notes/cost_models.md#chunks-without-items).
NonzeroSplitConfig default_of(const SpmmQuery& query, const Preparation& preparation) {
  NonzeroSplitConfig best = usual_of(query, preparation);
  if (!is_mostly_idle(query, best) || forbidden(query, best)) return best;
  double least_us = predict_us(query, best);
  for (const NonzeroSplitConfig& config : combinations_of(query, preparation)) {
    if (forbidden(query, config)) continue;
    const double us = predict_us(query, config);
    if (us >= least_us) continue;
    best = config;
    least_us = us;
  }
  return best;
}

}  // namespace

NonzeroSplitConfig default_config(const SpmmQuery& query) { return default_of(query, preparations(query).front()); }

/// All with the best-guess preparation; for other preparations, the default.
std::vector<NonzeroSplitConfig> space(const SpmmQuery& query) {
  const std::vector<Preparation> all = preparations(query);
  std::vector<NonzeroSplitConfig> list = {default_config(query)};
  for (const NonzeroSplitConfig& config : combinations_of(query, all.front())) add_new(list, config);
  for (const Preparation& other : std::span(all).subspan(1)) list.push_back(default_of(query, other));
  return list;
}

std::vector<NonzeroSplitConfig> short_list(const SpmmQuery& query) {
  const std::vector<Preparation> all = preparations(query);
  std::vector<NonzeroSplitConfig> list = {default_config(query)};
  if (!defeats_rows(query)) return list;
  const NonzeroSplitConfig base = common(query, all.front());
  for (const Choice& choice : choices) add_new(list, chosen(query, base, choice));
  for (const Preparation& other : std::span(all).subspan(1)) list.push_back(default_of(query, other));
  return list;
}

}  // namespace vostok::ops::nonzero_split
