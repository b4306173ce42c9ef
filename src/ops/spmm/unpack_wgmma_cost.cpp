// The cost model of unpack_wgmma: what a k block costs each resource of a multiprocessor, how many there are one after
// the other, and the launches around. Constants stand for an H200, fitted to what 123 problems took there
// (bench/notes/cost_models.md#clusters-and-products-of-16-bits); it ranks, nothing more.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/machine.hpp"
#include "ops/mask_runs.hpp"
#include "ops/spmm/output_stores.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/stage_ring.hpp"
#include "ops/spmm/unpack_wgmma.hpp"

namespace vostok::ops::unpack_wgmma {

namespace {

double as_double(std::int64_t value) { return static_cast<double>(value); }

/// Share of the elements covered by runs, and the density of the rest.
struct Density {
  double solid;
  double loose;
};

Density density(const SpmmQuery& query) {
  const TopologyStatistics& s = query.statistics;
  const double elements = std::max(as_double(s.rows) * as_double(s.cols), 1.0);
  const double solid = banded_share(s) * as_double(s.nonzeros);
  return {.solid = std::min(solid / elements, 1.0),
          .loose = (as_double(s.nonzeros) - solid) / std::max(elements - solid, 1.0)};
}

/// Average pairs of a strip that hold a nonzero.
double expected_pairs(const SpmmQuery& query, const UnpackWgmmaConfig& c) {
  const Density d = density(query);
  const double empty = (1 - d.loose) * (1 - d.loose);
  if (takes_whole(c)) return packed_most(c.grain);
  return packed_most(c.grain) * (1 - (1 - d.solid) * (takes_fours(c) ? empty * empty : empty));
}

/// Left-over entries of a row: the third and fourth nonzero of four columns. Those of runs all fall into one part of k.
struct Left {
  double solid;
  double loose;
};

Left expected_left(const SpmmQuery& query) {
  const auto [solid, d] = density(query);
  const double fours = as_double(query.statistics.cols) / 4;
  return {.solid = fours * 2 * solid, .loose = fours * (1 - solid) * (4 * d * d * d * (1 - d) + 2 * d * d * d * d)};
}

/// Bytes of A that a block reads for one k block.
double strip_bytes(const SpmmQuery& query, const UnpackWgmmaConfig& c) {
  const int rounding = takes_whole(c) ? 0 : 8;
  return tile_strips(c) * (packed_header_bytes(c.grain) + rounding + 4.0 * terms(c) * expected_pairs(query, c));
}

/// Cycles of a block before its first k block, for what is left over without batches: to find a warp's entries, then
/// for each of them and for each row that gets sums. Fitted to 8192x2048, n = 128, at 80 to 95 % zeros, and to
/// 8192x8192, n = 32 and 256 (bench/notes/cost_models.md#what-fours-leave-over).
double left_cycles(const SpmmQuery& query, const UnpackWgmmaConfig& c) {
  if (!takes_fours(c) || batches_left_over(c)) return 0;
  const double parts = c.k_split * c.k_groups;
  const Left left = expected_left(query);
  const double entries = packed_strip_rows() * (left.loose / parts + left.solid);
  constexpr double search = 3500;
  // Of a column-major B each column is in a line of its own: two cycles of the first-level cache, which warps share.
  const bool scattered = query.problem.dense_layout == Layout::column_major;
  const double entry = 45 + (scattered ? 2.0 * consumer_warps(c) * c.min_blocks : 0.5) * c.tile_columns;
  const double delivery = 70 + 1.2 * c.tile_columns;
  // A part's entries follow one another: it has few of the rows.
  const double rows = packed_strip_rows() / parts * (1 - std::exp(-left.loose - left.solid)) + 1;
  return search + entries * entry + rows * delivery;
}

/// Entries that batches bring to a tile, for each of its k blocks.
double batched_entries(const SpmmQuery& query, const UnpackWgmmaConfig& c) {
  if (!batches_left_over(c)) return 0;
  const Left left = expected_left(query);
  return tile_rows(c) * (left.loose + left.solid) / std::max(1.0, as_double(packed_k_blocks(query.statistics.cols)));
}

/// Whether a block multiplies for long enough to hide most of its unpacking: wide tiles whose elements are one term
/// (bench/notes/cost_models.md#wide-tiles-of-one-term).
bool hides_unpacking(const UnpackWgmmaConfig& c) { return terms(c) == 1 && c.tile_columns >= 128; }

/// What splitting a unit takes: issue slots, from the multiplying warps; and a warp's time.
struct SplitUnit {
  double instructions;
  double latency;  ///< of loads, and what follows
};

/// What the copy engine brings is there long before. Four warps that load have too little on its way unless B `stays`
/// in L2 (bench/notes/cost_models.md#wide-products-whose-blocks-split-b).
SplitUnit split_unit(const UnpackWgmmaConfig& c, bool stays) {
  const bool four_warps = c.producer_warps == 4;
  if (keeps_scales(c)) return {220, 1700};
  if (copies_units(c)) return terms(c) == 1 ? SplitUnit{320, 2000} : SplitUnit{450, four_warps ? 1900.0 : 1300.0};
  if (split_unit_columns(c) == 16) return {750, 1500};
  return {1500, four_warps && !stays ? 3000.0 : 2170.0};
}

/// Bytes a cycle of one SM, by bulk copies, however many SMs copy; boxes are faster, most of all beside fewer
/// multiplications or where nothing is unpacked.
double l2_bytes_per_cycle(const UnpackWgmmaConfig& c) {
  if (takes_whole(c) && !packed_splits(c.mode)) return 56;
  if (takes_whole(c) || !hides_unpacking(c)) return 37.3;
  return takes_fours(c) && !packed_splits(c.mode) ? 50 : 46;
}

/// Cycles of a block that its k blocks do not take.
struct TileCost {
  double start;       ///< barriers, the first copies, unpacking
  double warp_start;  ///< for each warp
  double cluster;     ///< two barriers, and exchange of sums between SMs
  double store;       ///< besides what is stored
};

/// Of whole strips fitted to some 500 problems (bench/notes/cost_models.md#whole-strips).
TileCost tile_cost(const UnpackWgmmaConfig& c) {
  const double start = packed_splits(c.mode) ? 1320 : 400;
  if (takes_whole(c)) return {.start = start, .warp_start = 30, .cluster = 400.0 * (c.k_split - 1), .store = 600};
  return {.start = 1320, .warp_start = 120, .cluster = 720, .store = 300};
}

/// Cycles of one block's k block on each resource, and of its longest chain of dependent instructions.
struct BlockCycles {
  double tensor;
  double issue;
  double memory;
  double chain;
};

/// Tiles for which a block brings B once: all row tiles of its columns where B stays.
double tiles_of_dense(const SpmmQuery& query, const UnpackWgmmaConfig& c) {
  return keeps_dense(c) ? std::max(1.0, as_double(ceil_div(query.statistics.rows, tile_rows(c)))) : 1;
}

/// `stays`: B and C do, in L2, from one call to the next.
BlockCycles cycles_of(const SpmmQuery& query, const UnpackWgmmaConfig& c, bool stays) {
  constexpr double least_multiplication = 16;
  // A 2:4 sparse A has half as many registers to unpack, and as many multiplications.
  const double share = takes_fours(c) ? 0.5 : 1;
  const bool unpacks = c.kept_blocks == 0 && !takes_whole(c);
  const double unpack_instructions = unpacks ? (terms(c) == 2 ? 170 : 83) * (takes_fours(c) ? 0.6 : 1) : 0;
  const double unpack_latency = unpacks ? (takes_fours(c) ? 400 : 604) * (hides_unpacking(c) ? 0.5 : 1) : 0;
  constexpr double overflow_latency =
      523;  // of checking whether a strip fits its stage, to unpack it from there or from memory
  constexpr double barrier_latency = 158;
  constexpr double producer_latency = 200;
  constexpr double direct_producer_latency = 397;  // measured: the shortest time between k blocks
  const SplitUnit unit = split_unit(c, stays);
  // Tensor cores that read A from shared memory wait for it, in narrow tiles.
  const double least = takes_whole(c) ? 16 + 0.35 * c.tile_columns : least_multiplication;
  const double multiplications = share * 4.0 * (terms(c) == 2 ? 3 : 1) * std::max(c.tile_columns / 2.0, least);
  double promotion = 0;
  if (c.promotion_blocks > 0)
    promotion = c.tile_columns / 8.0 * (packed_scales_rows(c.mode) ? 9 : 4) / c.promotion_blocks;
  const double row_tiles = tiles_of_dense(query, c);
  const double split_units =
      splits_dense(c) ? c.tile_columns / static_cast<double>(split_unit_columns(c)) / row_tiles : 0;
  const double copies = copies_by_threads(c) ? c.tile_columns * 8 / 32.0 * 4 / 4 : split_units * unit.instructions / 4;
  const double unpacking =
      unpack_latency + (c.strip_pairs < packed_most(c.grain) && unpacks ? overflow_latency : 0) + unpack_instructions;
  const double multiplying = multiplications + barrier_latency;
  const double dense_bytes = c.prepare_dense
                                 ? dense_groups(c) * dense_group_bytes(c)
                                 : packed_strip_columns() * c.tile_columns * (splits_dense(c) ? 4 : 2) / row_tiles;
  const double entries = batched_entries(query, c);
  const double memory = (dense_bytes + entries * c.tile_columns * 2 + (c.kept_blocks > 0 ? 0 : strip_bytes(query, c))) /
                        l2_bytes_per_cycle(c);
  // With several groups, each has the time of that many k blocks for its chain.
  const double promoting = barrier_latency + (takes_whole(c) ? 3 : 2) * promotion;  // unpacking hides some of it
  const double chain = takes_whole(c) && c.overlap
                           ? std::max(promoting, multiplying)
                           : promoting + (c.overlap ? std::max(unpacking, multiplying) : unpacking + multiplying);
  // A stage for B is full only after the block has split it.
  const double refill = memory + (splits_dense(c) && !keeps_dense(c) ? unit.latency : 0);
  const double ring =
      ring_cycles(chain, refill_latency(c.tile_columns, terms(c)), refill, c.stages, as_double(slice_blocks(query, c)));
  return {
      .tensor = c.warpgroups * multiplications + entries / left_batch_rows() * c.tile_columns / 2,
      .issue = c.warpgroups * (unpack_instructions + promotion) + copies,
      .memory = memory,
      .chain = std::max({chain / c.k_groups, ring, copies_by_threads(c) ? direct_producer_latency : producer_latency,
                         split_units / c.producer_warps * unit.latency})};
}

/// Cycles of a k block with `blocks` resident blocks on the SM. Resources never overlap perfectly, least of all if
/// warpgroups wait for the same stage: they then unpack together and multiply together.
double shared_cycles(const BlockCycles& block, int blocks, const UnpackWgmmaConfig& c) {
  const double overlap_loss = (c.warpgroups > 1 ? 0.169 : 0.099) * (hides_unpacking(c) || takes_whole(c) ? 0.6 : 1);
  const double tensor = blocks * block.tensor;
  const double issue = blocks * block.issue;
  const double memory = blocks * block.memory;
  const double longest = std::max({tensor, issue, memory, block.chain});
  return longest + overlap_loss * (tensor + issue + memory + block.chain - longest);
}

/// Tiles of the persistent block that has most, of `blocks` tiles. Where B stays, a block takes whole columns.
double most_tiles(const SpmmQuery& query, const UnpackWgmmaConfig& c, double blocks, double resident) {
  const double row_tiles = tiles_of_dense(query, c);
  return std::ceil(blocks / row_tiles / resident) * row_tiles;
}

double output_bytes(const SpmmQuery& query, double element_bytes) {
  return as_double(query.statistics.rows) * as_double(query.n.most) * as_double(query.problem.batch) * element_bytes;
}

/// Bytes of B and C that a call moves.
struct Traffic {
  bool stays;        ///< in L2, from one call to the next
  double preparing;  ///< by the launch that splits B
  double moved;      ///< between L2 and memory by the product
};

Traffic traffic_of(const SpmmQuery& query, const UnpackWgmmaConfig& c) {
  constexpr double resident_bytes = 40e6;
  const double elements = as_double(query.statistics.cols) * as_double(query.n.most) * as_double(query.problem.batch);
  const double dense = elements * size_of(query.problem.element);
  const double prepared = c.prepare_dense ? elements * 2 * terms(c) : 0;
  const double result = output_bytes(query, size_of(query.problem.output.value_or(query.problem.element)));
  const bool stays = dense + prepared + result < resident_bytes;
  const double stored = output_bytes(query, stored_element_bytes(query));
  return {.stays = stays,
          .preparing = dense + prepared,
          .moved = stays ? 0 : stored + (c.prepare_dense ? prepared : dense)};
}

}  // namespace

double predict_us(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  constexpr double launch_us = 1.0;
  constexpr double next_launch_us = 1.34;
  constexpr double l2_bytes_per_us = 7.3e6;
  constexpr double preparing_share = 0.65;  // of memory's bandwidth: 2.6 to 3.1 TB/s of 4.8
  const Machine machine = machine_of(query);
  const double n = as_double(std::max<std::int64_t>(query.n.most, 1));
  const double batch = as_double(query.problem.batch);
  const double k_blocks = as_double(packed_k_blocks(query.statistics.cols));
  const double blocks = as_double(ceil_div(query.statistics.rows, tile_rows(config))) *
                        std::ceil(n / config.tile_columns) * config.k_split * batch;
  const double multiprocessors = machine.clustered_multiprocessors(tile_parts(config).blocks);
  const double resident = multiprocessors * config.min_blocks;
  const double full_waves = std::floor(blocks / resident);
  const double rest = blocks - full_waves * resident;
  const Traffic traffic = traffic_of(query, config);
  const BlockCycles block = cycles_of(query, config, traffic.stays);

  const TileParts parts = tile_parts(config);
  const TileCost cost = tile_cost(config);
  double exchange_cycles = parts.count() == 1 ? 0 : 150 + parts.bytes() / 19.2;
  if (parts.blocks > 1) exchange_cycles += cost.cluster;
  const double stored_bytes_per_cycle = traffic.stays ? 30 : 20;
  const double store_cycles = cost.store + exchange_cycles +
                              tile_rows(config) * config.tile_columns * 4.0 / stored_bytes_per_cycle / parts.blocks;
  const double begin_cycles = cost.start + cost.warp_start * threads(config) / 32;
  const double left = left_cycles(query, config);
  const double steps = as_double(slice_blocks(query, config));
  const auto wave_cycles = [&](int together) {
    return steps * shared_cycles(block, together, config) + begin_cycles + left + store_cycles * together;
  };
  double cycles = full_waves * wave_cycles(config.min_blocks);
  if (rest > 0) cycles += wave_cycles(static_cast<int>(std::ceil(rest / multiprocessors)));
  if (config.persistent) {
    // What the next tile's operands take is hidden by the stores of the one before.
    BlockCycles without_copies = block;
    without_copies.memory = 0;
    const double own =
        steps * shared_cycles(without_copies, config.min_blocks, config) + left + store_cycles * config.min_blocks;
    cycles = begin_cycles +
             most_tiles(query, config, blocks, resident) * std::max(own, steps * block.memory * config.min_blocks);
  }
  const double packed_bytes = as_double(ceil_div(query.statistics.rows, packed_strip_rows())) * k_blocks *
                              strip_bytes(query, config) / tile_strips(config);
  constexpr double streaming = 1.18;  // fitted: strips come at five sixths of the memory bandwidth
  const double from_memory_us = (streaming * packed_bytes + traffic.moved) / machine.memory_bytes_per_us;
  double us = without_overlap(query, 1.05) * (launch_us + std::max(cycles / machine.cycles_per_us, from_memory_us));
  if (!packed_splits(config.mode)) us -= hidden_start_us(query, blocks, resident, 0.8);
  if (config.prepare_dense)
    us += next_launch_us +
          traffic.preparing / (traffic.stays ? l2_bytes_per_us : preparing_share * machine.memory_bytes_per_us);
  if (launched_slices(config) > 1)
    us += next_launch_us + output_bytes(query, 4.0 * (config.k_split * 2 + 1)) / l2_bytes_per_us;
  // Blocks that pack whole strips find room on multiprocessors without others.
  const double packing_room = takes_whole(config) ? multiprocessors : resident;
  if (packs_in_workspace(query))
    us += next_launch_us + packing_us(query, strip_kind(query, config), crowds_packing(blocks, packing_room));
  return us;
}

}  // namespace vostok::ops::unpack_wgmma
