// The space of staged_rows as tables. Panels of 256 and 128 rows, tiles of 64 columns, half a warp a row and 2 to 8
// rows a lane come from a prototype measured on an H200. Tiles of 32 columns are for problems that would not fill the
// device otherwise; all of k is then one panel. Where n is wide and k is not, such a panel stays for all rows, or for a
// part of them. The rest is open to the cost model. One row a lane was tried on 120 problems: it took at least 1.23
// times the winner's time.
#include <algorithm>
#include <array>
#include <span>

#include "base/checked.hpp"
#include "ops/config_list.hpp"
#include "ops/limits.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/staged_rows.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::staged_rows {

namespace {

using csr_product::Preparation;

/// Lanes of a row, and how many 16-byte pieces of a row of B each has. Few lanes have more rows abreast, which share
/// what a row costs beside its entries.
struct Shape {
  int threads_per_row;
  int parts;
};

constexpr std::array shapes = {Shape{16, 1}, Shape{32, 1}, Shape{16, 2}, Shape{8, 1}, Shape{8, 2}};

struct Panels {
  int rows;
  int stages;
};

constexpr std::array panel_tables = {Panels{512, 3}, Panels{512, 2}, Panels{256, 3}, Panels{256, 2},
                                     Panels{128, 4}, Panels{128, 3}, Panels{128, 2}, Panels{64, 2}};

struct Rows {
  int warps;
  int rows_per_lane;
};

constexpr std::array row_tables = {Rows{16, 8}, Rows{16, 4}, Rows{16, 2}, Rows{8, 8},
                                   Rows{8, 4},  Rows{8, 2},  Rows{4, 4}};

struct Steps {
  int entries_per_lane;
  int loads_in_flight;
  int filled_entries = 1;
};

/// Filled rows are for few entries in a panel, which end in no smaller and smaller batches then.
constexpr std::array step_tables = {Steps{2, 8},    Steps{4, 8},    Steps{2, 4},   Steps{2, 4, 4},
                                    Steps{4, 4, 4}, Steps{4, 2, 2}, Steps{8, 4, 4}};

constexpr std::array slices = {1, 2, 4};

/// Blocks that share a tile of columns where B stays in shared memory, and the rows that a block then takes at a time.
constexpr std::array staying_groups = {1, 2, 4};
constexpr std::array staying_shapes = {Shape{16, 1}, Shape{32, 1}, Shape{16, 2}, Shape{8, 1},
                                       Shape{8, 2},  Shape{8, 4},  Shape{4, 1}};
constexpr std::array staying_rows = {Rows{16, 4}, Rows{16, 2}, Rows{8, 4}, Rows{8, 2}, Rows{32, 2}};
constexpr std::int64_t most_staying_k = 2048;

/// Resident threads of an SM: 128 registers each, as for row_tile.
constexpr int resident_threads = 512;
/// And where B stays: 64 registers each.
constexpr int staying_threads = 1024;

struct Choice {
  Shape shape;
  Panels panels;
  Rows rows;
  Steps steps;
  int k_split;
};

/// The short list. The last ones fit the smallest shared memory that a GPU has.
constexpr std::array choices = {
    Choice{{16, 1}, {256, 3}, {16, 8}, {2, 8}, 1}, Choice{{16, 1}, {256, 3}, {16, 4}, {2, 8}, 1},
    Choice{{16, 1}, {256, 3}, {16, 2}, {2, 8}, 1}, Choice{{16, 1}, {128, 3}, {8, 4}, {2, 8}, 1},
    Choice{{16, 1}, {128, 2}, {8, 2}, {2, 8}, 1},  Choice{{16, 2}, {128, 3}, {16, 4}, {2, 4}, 1},
    Choice{{16, 1}, {128, 3}, {8, 4}, {2, 8}, 2},  Choice{{16, 1}, {128, 2}, {8, 2}, {2, 8}, 4},
    Choice{{16, 1}, {128, 2}, {16, 4}, {2, 8}, 1}, Choice{{8, 1}, {512, 3}, {16, 4}, {2, 8}, 1},
    Choice{{8, 1}, {512, 2}, {16, 2}, {4, 8}, 1},  Choice{{16, 1}, {64, 2}, {8, 4}, {2, 8}, 1},
    Choice{{16, 1}, {64, 2}, {4, 4}, {2, 4}, 1},
};

/// Of it where B stays.
constexpr std::array staying_choices = {Choice{{16, 2}, {}, {16, 4}, {2, 4}, 1}, Choice{{16, 2}, {}, {8, 2}, {2, 4}, 1},
                                        Choice{{16, 1}, {}, {16, 2}, {2, 4}, 1},
                                        Choice{{8, 1}, {}, {32, 2}, {4, 4}, 1}};

/// The preparations, best guess first: a value that is looked up is looked up once for each tile of columns.
std::vector<Preparation> preparations(const SpmmQuery& query) {
  constexpr std::int64_t tile_columns = 64;
  const bool column_major = query.problem.dense_layout == Layout::column_major;
  if (!query.problem.sparse_transposed) return {{.prepare_dense = column_major, .pack_values = false}};
  const bool packs_first = query.n.most > tile_columns;
  return {{.prepare_dense = column_major, .pack_values = packs_first},
          {.prepare_dense = column_major, .pack_values = !packs_first}};
}

/// For a narrow n: fewer columns first, then fewer lanes.
void fit_columns(const SpmmQuery& query, StagedRowsConfig& config, const Shape& shape) {
  const int lane_values = shape.parts * 16 / size_of(query.problem.element);
  int parts = std::max(1, lane_values / config.dense_vector);
  config.threads_per_row = shape.threads_per_row;
  const auto too_wide = [&] {
    return std::int64_t{config.threads_per_row} * config.dense_vector * parts >=
           2 * std::max<std::int64_t>(query.n.most, 1);
  };
  while (parts > 1 && too_wide()) parts /= 2;
  while (config.threads_per_row > 1 && too_wide()) config.threads_per_row /= 2;
  config.tile_columns = config.threads_per_row * config.dense_vector * parts;
}

StagedRowsConfig chosen(const SpmmQuery& query, const Preparation& preparation, const Choice& choice) {
  const StagedRowsTraits t = traits(query);
  StagedRowsConfig config = {.panel_rows = choice.panels.rows,
                             .dense_vector = csr_product::widest_dense_vector(query, t, preparation),
                             .warps = choice.rows.warps,
                             .stages = choice.panels.stages,
                             .loads_in_flight = choice.steps.loads_in_flight,
                             .k_split = choice.k_split,
                             .prepare_dense = preparation.prepare_dense,
                             .pack_values = preparation.pack_values,
                             .stream_output = streams_output(query)};
  fit_columns(query, config, choice.shape);
  config.rows_per_lane = std::min(choice.rows.rows_per_lane, config.threads_per_row);
  config.tile_nonzeros = std::max(4, choice.steps.entries_per_lane * config.threads_per_row);
  config.filled_entries = choice.steps.filled_entries;
  // Stages beyond the panels of a slice would stay empty.
  config.stages = static_cast<int>(std::clamp<std::int64_t>(slice_panels(query, config), 1, config.stages));
  config.min_blocks = std::max(1, std::min(resident_blocks(query, config), resident_threads / threads(config)));
  return config;
}

/// Whether all of k may be one panel that stays in shared memory while a block goes through its rows.
bool may_stay(const SpmmQuery& query) { return query.statistics.cols > 0 && query.statistics.cols <= most_staying_k; }

/// The same with a B that stays for a group of the rows, of which a tile of columns has that many.
StagedRowsConfig staying(const SpmmQuery& query, const Preparation& preparation, const Choice& choice, int groups) {
  Choice whole = choice;
  whole.panels = {.rows = static_cast<int>(round_up(query.statistics.cols, std::int64_t{4})), .stages = 1};
  StagedRowsConfig config = chosen(query, preparation, whole);
  const std::int64_t rounds = ceil_div(row_tiles(query, config), groups);
  config.row_rounds = static_cast<int>(std::clamp<std::int64_t>(rounds, 1, 65535));
  // Nothing else hides what a warp waits for: more threads share a multiprocessor.
  config.min_blocks = std::max(1, std::min(resident_blocks(query, config), staying_threads / threads(config)));
  while (config.min_blocks > 1 && forbidden(query, config)) --config.min_blocks;
  return config;
}

/// The short list with one preparation.
std::vector<StagedRowsConfig> all_choices(const SpmmQuery& query, const Preparation& preparation) {
  std::vector<StagedRowsConfig> list;
  list.reserve(choices.size() + staying_choices.size());
  if (may_stay(query))
    for (const Choice& choice : staying_choices) list.push_back(staying(query, preparation, choice, 1));
  for (const Choice& choice : choices) list.push_back(chosen(query, preparation, choice));
  return list;
}

/// The admitted choice with the lowest predicted time; the last one if none is admitted.
StagedRowsConfig default_of(const SpmmQuery& query, const Preparation& preparation) {
  const std::vector<StagedRowsConfig> list = all_choices(query, preparation);
  const std::vector<StagedRowsConfig> admitted = ranked(
      list, [&](const StagedRowsConfig& config) { return !forbidden(query, config); },
      [&](const StagedRowsConfig& config) { return predict_us(query, config); });
  return admitted.empty() ? list.back() : admitted.front();
}

}  // namespace

bool shares_panels(const SpmmQuery& query) {
  constexpr std::int64_t least_k = 64;
  constexpr std::int64_t least_rows = 128;
  constexpr std::int64_t least_columns = 32;
  constexpr double least_sharing = 1;
  constexpr double usual_rows = 128;
  const TopologyStatistics& s = query.statistics;
  const double density = s.mean_row / static_cast<double>(std::max<std::int64_t>(s.cols, 1));
  return s.cols >= least_k && s.rows >= least_rows && query.n.most >= least_columns &&
         density * usual_rows >= least_sharing;
}

int resident_blocks(const SpmmQuery& query, const StagedRowsConfig& config) {
  constexpr Multiprocessor usual{.shared_bytes = least_multiprocessor_of_sm_80.shared_bytes,
                                 .threads = least_multiprocessor.threads};
  const Multiprocessor multiprocessor = multiprocessor_of(query.device, usual);
  const int by_memory = multiprocessor.shared_bytes / (shared_bytes(traits(query), config) + reserved_shared_bytes);
  return std::max(1, std::min(by_memory, multiprocessor.threads / threads(config)));
}

StagedRowsConfig default_config(const SpmmQuery& query) { return default_of(query, preparations(query).front()); }

/// All with the best-guess preparation; for other preparations, the default.
std::vector<StagedRowsConfig> space(const SpmmQuery& query) {
  const std::vector<Preparation> all = preparations(query);
  std::vector<StagedRowsConfig> list = {default_config(query)};
  for (const Shape& shape : shapes)
    for (const Panels& panels : panel_tables)
      for (const Rows& rows : row_tables)
        for (const Steps& steps : step_tables)
          for (const int k_split : slices)
            add_new(list, chosen(query, all.front(), {shape, panels, rows, steps, k_split}));
  if (may_stay(query))
    for (const Shape& shape : staying_shapes)
      for (const Rows& rows : staying_rows)
        for (const Steps& steps : step_tables)
          for (const int groups : staying_groups)
            add_new(list, staying(query, all.front(), {shape, {}, rows, steps, 1}, groups));
  for (const Preparation& other : std::span(all).subspan(1)) add_new(list, default_of(query, other));
  return list;
}

std::vector<StagedRowsConfig> short_list(const SpmmQuery& query) {
  const std::vector<Preparation> all = preparations(query);
  std::vector<StagedRowsConfig> list = {default_config(query)};
  if (!shares_panels(query)) return list;
  for (const StagedRowsConfig& config : all_choices(query, all.front())) add_new(list, config);
  for (const Preparation& other : std::span(all).subspan(1)) add_new(list, default_of(query, other));
  return list;
}

}  // namespace vostok::ops::staged_rows
