// The space of row_tile as tables, measured on an H200 over the problems of the Deep Learning Matrix Collection
// (bench/notes/row_tile.md#searches-of-the-space). What never won there is not in the space: single-row subwarps of
// fewer than eight lanes where n is larger, dense loads narrower than the alignment allows, more than 512 threads,
// steps of fewer than 32 entries a lane.
#include <algorithm>
#include <array>
#include <span>

#include "ops/config_list.hpp"
#include "ops/limits.hpp"
#include "ops/spmm/csr_product.hpp"
#include "ops/spmm/row_tile.hpp"
#include "ops/streamed_output.hpp"

namespace vostok::ops::row_tile {

namespace {

using csr_product::Preparation;
using csr_product::preparations;
using csr_product::rounded_columns;

/// How the lanes of a warp share columns and entries.
struct Shape {
  int threads_per_row;
  int row_split;
  int chunks;  ///< of dense_vector columns per lane

  friend bool operator==(const Shape&, const Shape&) = default;
};

constexpr int lanes_of(const Shape& shape) { return shape.threads_per_row * shape.row_split; }

constexpr std::array word_shapes = {Shape{32, 1, 2}, Shape{32, 1, 1}, Shape{16, 2, 2}, Shape{16, 2, 1}, Shape{8, 4, 2},
                                    Shape{8, 4, 1},  Shape{16, 1, 2}, Shape{8, 1, 2},  Shape{32, 1, 4}};

/// For 16-bit elements: as many bytes a lane as above, so half the lanes for a tile of the same width.
constexpr std::array half_word_shapes = {Shape{32, 1, 2}, Shape{32, 1, 1}, Shape{16, 2, 2}, Shape{16, 2, 1},
                                         Shape{8, 4, 2},  Shape{8, 4, 1},  Shape{16, 1, 1}, Shape{8, 1, 1}};

constexpr std::array block_threads = {64, 128, 256, 512};

/// Loads of B in flight for each lane, in whole steps and in others.
struct Batches {
  int loads_in_flight;
  int residue_unroll;
  bool overlap;
};

constexpr std::array word_batches = {Batches{8, 8, false}, Batches{16, 16, false}, Batches{8, 16, false},
                                     Batches{4, 4, true}, Batches{8, 8, true}};

/// A load of 16-bit elements covers twice the columns; sixteen loads in flight cost 15 % on average.
constexpr std::array half_word_batches = {Batches{4, 4, true}, Batches{8, 8, true}, Batches{8, 8, false}};

struct Steps {
  int entries_per_lane;
  bool prefetch;
};

constexpr std::array word_steps = {Steps{32, true}, Steps{64, true}, Steps{64, false}};

/// Steps of 32 entries a lane never won for 16-bit elements.
constexpr std::array half_word_steps = {Steps{64, true}, Steps{64, false}};

struct Order {
  Raster raster;
  bool deal_rows;
};

constexpr std::array orders = {Order{Raster::rows_first, false}, Order{Raster::columns_first, false},
                               Order{Raster::rows_first, true}, Order{Raster::columns_first, true}};

/// Resident threads of an SM: 128 registers each. More threads with fewer registers lost nearly everywhere.
constexpr int resident_threads = 512;

bool is_wide(Dtype type) { return size_of(type) == 4; }

/// The fields that all configs of this query and preparation share.
RowTileConfig common(const SpmmQuery& query, const Preparation& preparation) {
  const RowTileTraits t = traits(query);
  return {.sparse_vector = csr_product::widest_sparse_vector(query, t, preparation),
          .dense_vector = csr_product::widest_dense_vector(query, t, preparation),
          .reverse_offset_alignment = true,
          .row_swizzle = true,
          .prescale_indices = true,
          .column_edge = ColumnEdge::clamped,
          .stream_output = streams_output(query),
          .prepare_dense = preparation.prepare_dense,
          .pack_values = preparation.pack_values};
}

RowTileConfig with_shape(RowTileConfig config, const Shape& shape, int threads_per_block) {
  config.threads_per_row = shape.threads_per_row;
  config.row_split = shape.row_split;
  config.tile_columns = shape.threads_per_row * shape.chunks * config.dense_vector;
  config.tile_rows = std::max(1, threads_per_block / lanes_per_row(config));
  config.min_blocks = std::max(1, resident_threads / threads(config));
  return config;
}

RowTileConfig with_steps(RowTileConfig config, const Steps& step, const Batches& batch) {
  config.tile_nonzeros = step.entries_per_lane * config.row_split;
  config.prefetch_sparse = step.prefetch;
  config.loads_in_flight = batch.loads_in_flight;
  config.residue_unroll = batch.residue_unroll;
  config.overlap_batches = batch.overlap;
  return config;
}

RowTileConfig with_order(RowTileConfig config, const Order& order) {
  config.raster = order.raster;
  config.deal_rows = order.deal_rows;
  return config;
}

/// How rows are cut into slots.
struct Slots {
  bool half;    ///< slots hold half the entries of most rows; false: all
  bool pieces;  ///< long rows are cut, within the rows of a block
};

constexpr std::array all_slots = {Slots{false, false}, Slots{false, true}, Slots{true, true}};

/// With slots no other shapes or orders ever won.
bool takes_slots(const Shape& shape, const Order& order) {
  const bool dealt_by_columns = order.deal_rows && order.raster == Raster::columns_first;
  if (dealt_by_columns || shape.threads_per_row < 8) return false;
  return shape == Shape{16, 1, 2} ||
         (lanes_of(shape) == 32 && shape.chunks <= 2 && (shape.chunks == 1 || shape.row_split == 1));
}

/// The same config with slots. Entries beyond a row's slots are processed in long steps loaded ahead, since few rows
/// have any.
RowTileConfig with_slots(const SpmmQuery& query, RowTileConfig config, const Slots& slots) {
  config.tile_nonzeros = 64 * config.row_split;
  config.prefetch_sparse = true;
  const int least = std::max(32, config.row_split * config.residue_unroll);
  const int most = std::max(least, std::min(128, config.tile_nonzeros));
  constexpr double most_rows = 1.25;  // over the mean: rows of a pruned matrix vary by 10 to 40 %
  int entries = least;
  while (entries < most_rows * query.statistics.mean_row && entries < most) entries *= 2;
  config.slot_entries = slots.half ? std::max(least, entries / 2) : entries;
  if (slots.pieces && !config.deal_rows && query.problem.math != Math::strict)
    config.row_pieces = slot_pieces(query.statistics.longest_row,
                                    {.entries = config.slot_entries, .most_pieces = std::min(16, config.tile_rows)});
  return config;
}

/// The table's shapes, plus one that fits a narrower n, each once.
std::vector<Shape> shapes_for(const SpmmQuery& query, int dense_vector) {
  const auto table =
      is_wide(query.problem.element) ? std::span<const Shape>(word_shapes) : std::span<const Shape>(half_word_shapes);
  std::vector<Shape> list(table.begin(), table.end());
  const int lanes = std::max(1, rounded_columns(query, 8 * dense_vector) / dense_vector);
  if (lanes < 8) list.push_back({lanes, 32 / lanes, 1});
  if (query.problem.math == Math::strict)
    for (Shape& shape : list) shape.row_split = 1;
  std::vector<Shape> unique;
  for (const Shape& shape : list)
    if (std::find(unique.begin(), unique.end(), shape) == unique.end()) unique.push_back(shape);
  return unique;
}

/// An entry of the short list. The list was chosen greedily: each entry is the one that most reduces the regret left by
/// those before it, over all measured problems.
struct Choice {
  Shape shape;
  int threads_per_block;
  Steps step;
  Batches batch;
  Order order;
};

struct SlotChoice {
  Shape shape;
  int threads_per_block;
  Slots slots;
  Batches batch;
  Order order;
};

constexpr std::array word_choices = {
    Choice{{32, 1, 2}, 512, {32, true}, {8, 8, false}, {Raster::columns_first, false}},
    Choice{{32, 1, 1}, 128, {64, true}, {4, 4, true}, {Raster::columns_first, false}},
    Choice{{8, 1, 2}, 512, {32, true}, {4, 4, true}, {Raster::rows_first, false}},
    Choice{{16, 2, 1}, 128, {64, false}, {8, 8, false}, {Raster::columns_first, false}},
    Choice{{32, 1, 2}, 128, {64, true}, {4, 4, true}, {Raster::columns_first, true}},
    Choice{{32, 1, 2}, 128, {64, false}, {8, 8, false}, {Raster::rows_first, false}},
    Choice{{8, 4, 1}, 128, {32, true}, {4, 4, true}, {Raster::columns_first, false}},
    Choice{{16, 2, 1}, 512, {64, true}, {8, 8, true}, {Raster::rows_first, true}},
    Choice{{32, 1, 1}, 128, {64, true}, {16, 16, false}, {Raster::columns_first, false}},
    Choice{{8, 4, 1}, 512, {32, true}, {4, 4, true}, {Raster::rows_first, true}},
    Choice{{8, 4, 1}, 128, {64, false}, {16, 16, false}, {Raster::rows_first, false}},
    Choice{{16, 2, 1}, 128, {64, true}, {8, 16, false}, {Raster::columns_first, false}},
    Choice{{32, 1, 1}, 256, {64, true}, {16, 16, false}, {Raster::rows_first, false}},
    Choice{{32, 1, 2}, 512, {32, true}, {4, 4, true}, {Raster::columns_first, true}},
    Choice{{8, 4, 1}, 64, {32, true}, {16, 16, false}, {Raster::columns_first, false}},
    Choice{{16, 1, 2}, 128, {64, false}, {8, 8, false}, {Raster::rows_first, false}},
};

/// Entries with slots, from 65 problems with at least 75 % zeros. Beside these only the first entries of the table
/// above count.
constexpr std::array word_slot_choices = {
    SlotChoice{{16, 2, 1}, 128, {false, false}, {8, 8, false}, {Raster::columns_first, false}},
    SlotChoice{{16, 1, 2}, 128, {true, true}, {8, 8, false}, {Raster::rows_first, false}},
    SlotChoice{{32, 1, 2}, 128, {false, false}, {8, 8, false}, {Raster::rows_first, false}},
    SlotChoice{{16, 2, 1}, 128, {false, true}, {8, 16, false}, {Raster::columns_first, false}},
    SlotChoice{{32, 1, 1}, 128, {false, true}, {4, 4, true}, {Raster::columns_first, false}},
    SlotChoice{{32, 1, 1}, 128, {false, true}, {16, 16, false}, {Raster::columns_first, false}},
    SlotChoice{{16, 2, 1}, 512, {false, false}, {8, 8, true}, {Raster::rows_first, true}},
    SlotChoice{{32, 1, 1}, 256, {false, false}, {16, 16, false}, {Raster::rows_first, false}},
    SlotChoice{{16, 2, 1}, 128, {true, true}, {8, 16, false}, {Raster::columns_first, false}},
    SlotChoice{{16, 1, 2}, 128, {false, true}, {8, 8, false}, {Raster::rows_first, false}},
    SlotChoice{{32, 1, 1}, 128, {false, true}, {8, 8, false}, {Raster::columns_first, false}},
    SlotChoice{{32, 1, 2}, 512, {false, false}, {8, 8, false}, {Raster::columns_first, false}},
    SlotChoice{{16, 2, 1}, 128, {true, true}, {8, 8, false}, {Raster::columns_first, false}},
    SlotChoice{{32, 1, 2}, 128, {false, true}, {8, 8, false}, {Raster::rows_first, false}},
    SlotChoice{{8, 4, 1}, 64, {false, false}, {16, 16, false}, {Raster::columns_first, false}},
    SlotChoice{{16, 2, 1}, 512, {false, true}, {16, 16, false}, {Raster::rows_first, false}},
};

/// For elements of 16 bits, from 18 problems.
constexpr std::array half_word_choices = {
    Choice{{32, 1, 2}, 128, {64, false}, {4, 4, true}, {Raster::rows_first, false}},
    Choice{{8, 4, 1}, 128, {64, false}, {8, 8, true}, {Raster::columns_first, false}},
    Choice{{32, 1, 1}, 128, {64, false}, {8, 8, true}, {Raster::columns_first, false}},
    Choice{{32, 1, 2}, 512, {64, false}, {8, 8, false}, {Raster::rows_first, false}},
    Choice{{16, 2, 2}, 128, {64, false}, {8, 8, true}, {Raster::columns_first, false}},
    Choice{{32, 1, 2}, 128, {64, false}, {4, 4, true}, {Raster::columns_first, false}},
    Choice{{32, 1, 2}, 512, {64, false}, {4, 4, true}, {Raster::rows_first, false}},
    Choice{{8, 4, 1}, 64, {64, false}, {8, 8, true}, {Raster::columns_first, false}},
    Choice{{8, 4, 2}, 256, {64, true}, {4, 4, true}, {Raster::columns_first, true}},
    Choice{{32, 1, 1}, 128, {64, false}, {8, 8, true}, {Raster::columns_first, true}},
    Choice{{8, 4, 1}, 512, {64, true}, {8, 8, true}, {Raster::columns_first, true}},
    Choice{{32, 1, 1}, 512, {64, false}, {8, 8, true}, {Raster::columns_first, false}},
    Choice{{32, 1, 1}, 128, {64, false}, {8, 8, false}, {Raster::columns_first, false}},
    Choice{{16, 2, 1}, 128, {64, false}, {8, 8, true}, {Raster::rows_first, false}},
    Choice{{32, 1, 2}, 256, {64, false}, {4, 4, true}, {Raster::rows_first, false}},
};

/// Entries with slots for 16 bits: extrapolated from the winners of f32, not measured.
constexpr std::array half_word_slot_choices = {
    SlotChoice{{32, 1, 2}, 128, {false, false}, {4, 4, true}, {Raster::rows_first, false}},
    SlotChoice{{8, 4, 1}, 128, {false, true}, {8, 8, true}, {Raster::columns_first, false}},
    SlotChoice{{32, 1, 1}, 128, {false, true}, {8, 8, true}, {Raster::columns_first, false}},
    SlotChoice{{16, 2, 2}, 128, {false, true}, {8, 8, true}, {Raster::columns_first, false}},
    SlotChoice{{8, 4, 1}, 64, {false, false}, {8, 8, true}, {Raster::columns_first, false}},
    SlotChoice{{16, 2, 1}, 128, {true, true}, {8, 8, true}, {Raster::rows_first, false}},
};

/// The most columns of a tile: the paper's 64 for f32, and the same number of bytes for narrower elements.
int paper_columns(const SpmmQuery& query) { return 256 / size_of(query.problem.element); }

RowTileConfig paper_of(const SpmmQuery& query, const Preparation& preparation) {
  const RowTileConfig base = common(query, preparation);
  const int lanes = std::max(1, rounded_columns(query, paper_columns(query)) / base.dense_vector);
  const Shape shape = {std::min(lanes, 32), query.problem.math == Math::strict ? 1 : std::max(1, 32 / lanes),
                       std::max(1, lanes / 32)};
  RowTileConfig config =
      with_order(with_steps(with_shape(base, shape, 128), {64, false},
                            is_wide(query.problem.element) ? word_batches.front() : half_word_batches.front()),
                 {Raster::columns_first, false});
  // Few columns mean many lanes for a row's entries, and long steps; shorter ones if blocks would not fit on every
  // device.
  while (shared_bytes(traits(query), config) > block_shared_bytes_of_any) config.tile_nonzeros /= 2;
  return config;
}

/// One lane for each row, rows in order: a warp then stores a column-major C in whole sectors, which is nearly
/// all the work of an empty A.
RowTileConfig side_by_side(const SpmmQuery& query, const RowTileConfig& base) {
  constexpr int lane_columns = 8;
  constexpr int threads_per_block = 128;
  const int chunks = std::max(1, rounded_columns(query, lane_columns) / base.dense_vector);
  RowTileConfig config = with_steps(with_shape(base, {1, 1, chunks}, threads_per_block), {16, false}, {4, 4, false});
  config.row_swizzle = false;
  return with_order(config, {Raster::rows_first, false});
}

/// The paper's heuristic and the tables' choices of one preparation.
std::vector<RowTileConfig> choices_of(const SpmmQuery& query, const Preparation& preparation) {
  const bool wide = is_wide(query.problem.element);
  const RowTileConfig base = common(query, preparation);
  const auto make = [&](Shape shape, int threads_per_block, const Steps& step, const Batches& batch,
                        const Order& order) {
    if (query.problem.math == Math::strict) shape.row_split = 1;
    return with_order(with_steps(with_shape(base, shape, threads_per_block), step, batch), order);
  };
  std::vector<RowTileConfig> list = {paper_of(query, preparation)};
  std::span table = wide ? std::span<const Choice>(word_choices) : std::span<const Choice>(half_word_choices);
  if (!gathers_values(traits(query), base)) {
    constexpr std::size_t beside_slots = 6;
    table = table.first(beside_slots);
    for (const SlotChoice& c :
         wide ? std::span<const SlotChoice>(word_slot_choices) : std::span<const SlotChoice>(half_word_slot_choices))
      add_new(list, with_slots(query, make(c.shape, c.threads_per_block, {64, true}, c.batch, c.order), c.slots));
  }
  for (const Choice& c : table) add_new(list, make(c.shape, c.threads_per_block, c.step, c.batch, c.order));
  if (query.problem.output_layout == Layout::column_major) add_new(list, side_by_side(query, base));
  return list;
}

/// Whether the kernel may run out of registers on some architecture, where a default must not spill. Risky for 16-bit
/// elements: sums in two levels, slots beside several chunks of columns, and more than 64 registers of loads in flight,
/// or 32 where lanes share a row that has slots or an activation.
bool may_spill(const SpmmQuery& query, const RowTileConfig& config) {
  if (is_wide(query.problem.element)) return false;
  const bool has_slots = config.slot_entries > 0;
  if (has_slots && config.tile_columns > config.threads_per_row * config.dense_vector) return true;
  const int loads = std::max(config.loads_in_flight, config.residue_unroll) * (config.overlap_batches ? 2 : 1);
  const RowTileTraits t = traits(query);
  const int most_registers = config.row_split > 1 && (has_slots || t.activation != Activation::none) ? 32 : 64;
  return t.blocked_sum || loads * config.dense_vector / 2 > most_registers;
}

/// The likely fastest of these that the rules admit and that cannot spill; the first if there is none.
RowTileConfig likeliest(const SpmmQuery& query, const std::vector<RowTileConfig>& choices) {
  const std::vector<RowTileConfig> admitted = ranked(
      choices, [&](const RowTileConfig& config) { return !may_spill(query, config) && !forbidden(query, config); },
      [&](const RowTileConfig& config) { return predict_us(query, config); });
  return admitted.empty() ? choices.front() : admitted.front();
}

/// The default, the paper's heuristic, and all combinations of the tables.
std::vector<RowTileConfig> combinations_of(const SpmmQuery& query, const Preparation& preparation) {
  const RowTileConfig base = common(query, preparation);
  std::vector<RowTileConfig> first = {likeliest(query, choices_of(query, preparation))};
  add_new(first, paper_of(query, preparation));
  if (query.problem.output_layout == Layout::column_major) add_new(first, side_by_side(query, base));
  std::vector<RowTileConfig> list = first;
  const bool slots = !gathers_values(traits(query), base);
  const bool wide = is_wide(query.problem.element);
  const auto steps = wide ? std::span<const Steps>(word_steps) : std::span<const Steps>(half_word_steps);
  const auto batches = wide ? std::span<const Batches>(word_batches) : std::span<const Batches>(half_word_batches);
  for (const Shape& shape : shapes_for(query, base.dense_vector))
    for (const int threads_per_block : block_threads)
      for (const Batches& batch : batches)
        for (const Order& order : orders) {
          const auto with = [&](const Steps& step) {
            return with_order(with_steps(with_shape(base, shape, threads_per_block), step, batch), order);
          };
          std::vector<RowTileConfig> configs;
          if (slots && takes_slots(shape, order))
            for (const Slots& cut : all_slots) add_new(configs, with_slots(query, with(steps.front()), cut));
          for (const Steps& step : steps) configs.push_back(with(step));
          for (const RowTileConfig& config : configs)
            if (std::find(first.begin(), first.end(), config) == first.end()) list.push_back(config);
        }
  return list;
}

}  // namespace

RowTileConfig paper_config(const SpmmQuery& query) { return paper_of(query, preparations(query).front()); }

RowTileConfig default_config(const SpmmQuery& query) {
  return likeliest(query, choices_of(query, preparations(query).front()));
}

/// All with the best-guess preparation; for other preparations, the tables' choices.
std::vector<RowTileConfig> space(const SpmmQuery& query) {
  const std::vector<Preparation> all = preparations(query);
  std::vector<RowTileConfig> list = combinations_of(query, all.front());
  for (const Preparation& other : std::span(all).subspan(1))
    for (const RowTileConfig& config : choices_of(query, other)) list.push_back(config);
  return list;
}

std::vector<RowTileConfig> short_list(const SpmmQuery& query) {
  const std::vector<Preparation> all = preparations(query);
  std::vector<RowTileConfig> list = {default_config(query)};
  for (const RowTileConfig& config : choices_of(query, all.front())) add_new(list, config);
  for (const Preparation& other : std::span(all).subspan(1)) list.push_back(likeliest(query, choices_of(query, other)));
  return list;
}

}  // namespace vostok::ops::row_tile
