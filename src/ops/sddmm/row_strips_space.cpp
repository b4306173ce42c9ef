// The space of row_strips as tables. Products are bound by L1, which delivers 128 bytes a clock for every config.
// Tuning therefore sets how many loads are in flight, how many resident strips share rows of B in L1, and how much of a
// strip its row leaves empty.
#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "ops/config_list.hpp"
#include "ops/sddmm/row_strips.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::row_strips {

namespace {

constexpr std::array lane_counts = {8, 16, 32, 4};
constexpr std::array entry_counts = {32, 16, 64, 8};
constexpr std::array vectors_of_step = {1, 2};

struct Batches {
  int loads_in_flight;
  bool overlap;
};

constexpr std::array batches = {Batches{8, false}, Batches{16, false}, Batches{4, true}, Batches{8, true}};

/// Threads of a block, and resident threads of an SM: 128 registers each, or 64.
struct Blocks {
  int threads_per_block;
  int resident_threads;
};

constexpr std::array blocks = {Blocks{128, 512}, Blocks{64, 512}, Blocks{256, 512}, Blocks{128, 1024}};

std::int64_t widest_vector(const SddmmQuery& query, const RowStripsTraits& t) {
  std::int64_t widest = t.dense_alignment / size_of(t.element);
  while (query.problem.n % widest != 0) widest /= 2;
  return widest;
}

/// The fields that all configs of this query share.
RowStripsConfig common(const SddmmQuery& query) {
  const RowStripsTraits t = traits(query);
  return {.dense_vector = static_cast<int>(widest_vector(query, t)), .stream_output = streams_output(query)};
}

RowStripsConfig with_shape(RowStripsConfig config, int lanes, int entries, int step_vectors, const Blocks& block) {
  config.threads_per_strip = lanes;
  config.strip_entries = entries;
  config.step_vectors = step_vectors;
  config.strips_per_block = block.threads_per_block / lanes;
  config.min_blocks = block.resident_threads / block.threads_per_block;
  return config;
}

RowStripsConfig with_batches(RowStripsConfig config, const Batches& batch, ColumnPath path) {
  config.loads_in_flight = std::min(batch.loads_in_flight, config.strip_entries);
  config.overlap_batches = batch.overlap;
  config.column_path = path;
  return config;
}

RowStripsConfig with_split(RowStripsConfig config, int n_split) {
  config.n_split = n_split;
  return config;
}

RowStripsConfig without_bands(RowStripsConfig config) {
  config.column_bands = false;
  return config;
}

/// The cost model's best number of parts: more than one only if strips are too few to fill the device.
int best_split(const SddmmQuery& query, const RowStripsConfig& config) {
  int best = 1;
  double least_us = predict_us(query, config);
  for (int split = 2; split <= 256; split *= 2) {
    const RowStripsConfig candidate = with_split(config, split);
    const double us = predict_us(query, candidate);
    if (us >= least_us || forbidden(query, candidate)) continue;
    best = split;
    least_us = us;
  }
  return best;
}

/// visit(config, batch, block) for every shape of strips and blocks, and every way of loading that fits.
template <class Visit>
void for_each_shape(const RowStripsConfig& base, const Visit& visit) {
  for (const int lanes : lane_counts)
    for (const int entries : entry_counts)
      for (const int step_vectors : vectors_of_step)
        for (const Blocks& block : blocks)
          for (const Batches& batch : batches)
            if (batch.loads_in_flight <= entries)
              visit(with_shape(base, lanes, entries, step_vectors, block), batch, block);
}

/// The short list's entries.
struct Choice {
  int lanes, entries, step_vectors;
  Blocks block;
  Batches batch;
  ColumnPath path;
};

constexpr std::array choices = {
    Choice{8, 32, 1, {128, 512}, {16, false}, ColumnPath::shared},
    Choice{8, 16, 1, {128, 1024}, {8, false}, ColumnPath::shared},
    Choice{8, 16, 1, {128, 512}, {16, false}, ColumnPath::shared},
    Choice{8, 32, 1, {256, 512}, {4, true}, ColumnPath::shared},
    Choice{16, 32, 1, {128, 512}, {8, false}, ColumnPath::shared},
    Choice{16, 16, 1, {128, 512}, {16, false}, ColumnPath::shared},
    Choice{8, 32, 1, {64, 512}, {8, false}, ColumnPath::shared},
    Choice{32, 16, 1, {128, 512}, {8, false}, ColumnPath::shuffle},
    Choice{8, 32, 2, {128, 512}, {4, true}, ColumnPath::shared},
    Choice{8, 8, 1, {128, 1024}, {8, false}, ColumnPath::shared},
    Choice{32, 8, 1, {128, 1024}, {8, false}, ColumnPath::shared},
    Choice{4, 32, 2, {128, 512}, {4, true}, ColumnPath::shared},
    Choice{4, 16, 1, {128, 512}, {16, false}, ColumnPath::shared},
    Choice{4, 32, 1, {128, 512}, {8, false}, ColumnPath::shared},
    Choice{8, 16, 1, {256, 512}, {8, false}, ColumnPath::shared},
};

}  // namespace

/// The cost model's best config of every shape, with columns through shared memory.
RowStripsConfig default_config(const SddmmQuery& query) {
  const RowStripsConfig base = common(query);
  std::optional<RowStripsConfig> best;
  double least_us = 0;
  for_each_shape(base, [&](const RowStripsConfig& shaped, const Batches& batch, const Blocks&) {
    RowStripsConfig config = with_batches(shaped, batch, ColumnPath::shared);
    if (forbidden(query, config)) return;
    config = with_split(config, best_split(query, config));
    const double us = predict_us(query, config);
    if (best && us >= least_us) return;
    best = config;
    least_us = us;
  });
  if (best) return *best;
  // n is shorter than half a step of any shape.
  const auto lanes =
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(query.problem.n / base.dense_vector, 1)));
  return with_batches(with_shape(base, static_cast<int>(std::min<std::uint64_t>(lanes, 8)), 8, 1, blocks.front()),
                      batches.front(), ColumnPath::shared);
}

std::vector<RowStripsConfig> space(const SddmmQuery& query) {
  std::vector<RowStripsConfig> list = {default_config(query)};
  const int split = list.front().n_split;
  const RowStripsConfig base = common(query);
  const auto add = [&](const RowStripsConfig& config) {
    if (!(config == list.front())) list.push_back(config);
  };
  for_each_shape(base, [&](const RowStripsConfig& shaped, const Batches& batch, const Blocks& block) {
    const RowStripsConfig whole = with_batches(shaped, batch, ColumnPath::shared);
    add(whole);
    // Only blocks of the usual size are combined with shuffles, no bands, and n in parts.
    if (block.threads_per_block != blocks.front().threads_per_block) return;
    add(with_batches(shaped, batch, ColumnPath::shuffle));
    add(without_bands(whole));
    if (split == 1) return;
    add(with_split(whole, split));
    add(with_split(whole, 4 * split));
  });
  return list;
}

std::vector<RowStripsConfig> short_list(const SddmmQuery& query) {
  std::vector<RowStripsConfig> list = {default_config(query)};
  for (const Choice& c : choices) {
    const RowStripsConfig whole =
        with_batches(with_shape(common(query), c.lanes, c.entries, c.step_vectors, c.block), c.batch, c.path);
    const RowStripsConfig config = with_split(whole, forbidden(query, whole) ? 1 : best_split(query, whole));
    add_new(list, config);
  }
  return list;
}

}  // namespace vostok::ops::row_strips
