// The space of sparse_vector as tables: gaps, blocks, lanes of a row, and rows of a block, so that blocks fill the
// device a whole number of times.
#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <tuple>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/sparse_vector.hpp"
#include "ops/topology/packed_runs.hpp"

namespace vostok::ops::sparse_vector {

namespace {

constexpr std::array gap_widths = {4, 8};
constexpr std::array block_threads = {512, 1024, 256};
constexpr std::array row_lanes = {32, 16, 8, 64, 128, 256};
constexpr std::array block_counts = {2, 3, 1, 4};  ///< per multiprocessor
constexpr std::array wave_counts = {1, 2};

int columns_for(const SpmmQuery& query) {
  return static_cast<int>(
      std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(query.n.most, 1, most_columns))));
}

/// Rounds k so that few kernels serve many k: to powers of two if small, else to whole thousands.
int dense_rows_for(const SpmmQuery& query) {
  constexpr std::int64_t step = 1024;
  const std::int64_t k = std::clamp<std::int64_t>(query.statistics.cols, 64, 1 << 17);
  return static_cast<int>(k <= step ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(k)))
                                    : round_up(k, step));
}

/// Rows of a block with which blocks fill the device `waves` times.
int tile_rows_for(const SpmmQuery& query, const SparseVectorConfig& config, int waves) {
  const auto places = static_cast<std::int64_t>(machine_of(query).multiprocessors) * config.min_blocks * waves;
  const std::int64_t rows = ceil_div(std::max<std::int64_t>(query.statistics.rows, 1) * query.problem.batch, places);
  constexpr std::int64_t most_rows = 1 << 23;
  return static_cast<int>(round_up(std::min(rows, most_rows), rows_together(config)));
}

struct Shape {
  int gap_bits;
  bool wide_dense;
  int threads;
  int lanes_per_row;
  int min_blocks;
  int waves;
  bool load_ahead;
};

SparseVectorConfig config_of(const SpmmQuery& query, const Shape& shape) {
  SparseVectorConfig config = {.gap_bits = shape.gap_bits,
                               .columns = columns_for(query),
                               .dense_rows = dense_rows_for(query),
                               .wide_dense = shape.wide_dense,
                               .threads = shape.threads,
                               .lanes_per_row = shape.lanes_per_row,
                               .tile_rows = 1,
                               .min_blocks = shape.min_blocks,
                               .load_ahead = shape.load_ahead};
  config.tile_rows = tile_rows_for(query, config, shape.waves);
  return config;
}

/// All combinations of the tables, some more than once.
std::vector<SparseVectorConfig> combinations(const SpmmQuery& query) {
  const bool narrow = query.problem.element != Dtype::f32;
  std::vector<SparseVectorConfig> list;
  for (const int gap_bits : gap_widths)
    for (const bool wide_dense : {true, false}) {
      if (!wide_dense && !narrow) continue;
      for (const int threads : block_threads)
        for (const int lanes_per_row : row_lanes)
          for (const int min_blocks : block_counts)
            for (const int waves : wave_counts)
              for (const bool load_ahead : {false, true})
                if (lanes_per_row <= threads)
                  list.push_back(
                      config_of(query, {gap_bits, wide_dense, threads, lanes_per_row, min_blocks, waves, load_ahead}));
    }
  return list;
}

/// A config with its predicted time.
struct Ranked {
  SparseVectorConfig config;
  double us;
};

/// Every admitted combination, best first.
std::vector<Ranked> ranked(const SpmmQuery& query) {
  std::vector<Ranked> list;
  for (const SparseVectorConfig& config : combinations(query))
    if (admits(query, config)) list.push_back({config, predict_us(query, config)});
  std::stable_sort(list.begin(), list.end(), [](const Ranked& a, const Ranked& b) { return a.us < b.us; });
  return list;
}

}  // namespace

SparseVectorConfig smallest_config(const SpmmQuery& query) {
  return config_of(query, {.gap_bits = 8,
                           .wide_dense = true,
                           .threads = 256,
                           .lanes_per_row = 8,
                           .min_blocks = 1,
                           .waves = 1,
                           .load_ahead = false});
}

SparseVectorConfig default_config(const SpmmQuery& query) {
  const std::vector<Ranked> list = ranked(query);
  return list.empty() ? smallest_config(query) : list.front().config;
}

std::vector<SparseVectorConfig> space(const SpmmQuery& query) {
  std::vector<SparseVectorConfig> list = {default_config(query)};
  for (const SparseVectorConfig& config : combinations(query)) add_new(list, config);
  return list;
}

/// The best of each kind, then the best of the rest: neighbours in the ranking differ little.
std::vector<SparseVectorConfig> short_list(const SpmmQuery& query) {
  constexpr std::size_t length = 16;
  const auto kind_of = [](const SparseVectorConfig& c) { return std::tuple(c.gap_bits, c.threads, c.load_ahead); };
  const std::vector<Ranked> all = ranked(query);
  std::vector<SparseVectorConfig> list = {default_config(query)};
  std::set<decltype(kind_of(list.front()))> kinds = {kind_of(list.front())};
  for (const Ranked& candidate : all)
    if (kinds.insert(kind_of(candidate.config)).second) list.push_back(candidate.config);
  for (const Ranked& candidate : all)
    if (list.size() < length) add_new(list, candidate.config);
  return list;
}

}  // namespace vostok::ops::sparse_vector
