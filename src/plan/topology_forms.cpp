#include "plan/topology_forms.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/chunks.hpp"
#include "ops/topology/packed_form.hpp"
#include "ops/topology/packed_runs.hpp"
#include "ops/topology/packed_strips.hpp"
#include "ops/topology/panels.hpp"
#include "ops/topology/row_slots.hpp"
#include "ops/topology/runs_form.hpp"
#include "ops/topology/sparse_form.hpp"
#include "ops/topology/sparse_strips.hpp"
#include "ops/topology/tile_lists.hpp"
#include "sparse/chunks.hpp"
#include "sparse/csr.hpp"
#include "sparse/row_order.hpp"
#include "sparse/row_slots.hpp"
#include "sparse/strips.hpp"

namespace vostok::plan {

namespace {

ops::QueryBlocks blocks_of(const ops::TopologyNeeds& needs) {
  return {.queries = needs.key_tile_queries, .parts = needs.key_tile_parts};
}

}  // namespace

TopologyStatistics statistics_of(const CsrMeasures& measures, std::int64_t rows, std::int64_t cols,
                                 std::int64_t nonzeros) {
  return {
      .rows = rows,
      .cols = cols,
      .nonzeros = nonzeros,
      .longest_row = static_cast<std::int64_t>(measures.longest_row),
      .empty_rows = static_cast<std::int64_t>(measures.empty_rows),
      .mean_row = rows > 0 ? static_cast<double>(nonzeros) / static_cast<double>(rows) : 0,
      .row_variation = sparse::row_variation(rows, nonzeros, measures.sum_of_squares),
      .run_share = nonzeros > 0 ? static_cast<double>(measures.run_ends) / static_cast<double>(nonzeros) : 0,
      .span_share = sparse::span_share(rows - static_cast<std::int64_t>(measures.empty_rows), cols, measures.spanned),
      .sorted = measures.unsorted == 0,
      .duplicates = measures.duplicates != 0};
}

const void* TopologyForms::columns(IndexType index) const {
  return index == IndexType::i32 && stored_index() == IndexType::u16 ? wide_columns.data() : column_indices.data();
}

ops::CsrArrays TopologyForms::arrays() const {
  return {.row_offsets = row_offsets.data(),
          .wide_offsets = wide_offsets,
          .column_indices = column_indices.data(),
          .index = stored_index(),
          .rows = statistics.rows,
          .cols = statistics.cols,
          .nonzeros = statistics.nonzeros};
}

void TopologyForms::derive(const ops::Queue& queue, const ops::TopologyNeeds& needs, bool& queued) {
  if (needs.packed_strips) return derive_packed_strips(queue, *needs.packed_strips, queued);
  if (needs.run_gap_bits > 0) return derive_runs(queue, needs.run_gap_bits, queued);
  if (needs.sparse_strips) return derive_sparse_strips(queue, queued);
  derive_columns(queue, needs.index, queued);
  if (needs.row_order || needs.slots.entries > 0) derive_row_order(queue, queued);
  if (needs.slots.entries > 0) derive_slots(queue, needs.slots, needs.index, queued);
  if (needs.strip_entries > 0) derive_strips(queue, needs.strip_entries, queued);
  if (needs.chunk_items > 0) derive_chunks(queue, needs.chunk_items, queued);
  if (needs.panel_rows > 0) derive_panels(queue, needs.panel_rows, queued);
  if (needs.tiles.rows > 0) derive_tiles(queue, needs.tiles, queued);
  const ops::QueryBlocks blocks = blocks_of(needs);
  if (blocks.queries > 0) derive_key_tiles(queue, blocks, queued);
  if (needs.key_tile_starts) derive_key_starts(queue, blocks, queued);
}

void TopologyForms::derive_columns(const ops::Queue& queue, IndexType index, bool& queued) {
  if (index == IndexType::u16 && stored_index() != IndexType::u16)
    fail(ErrorCode::unsupported, "cannot derive 16-bit indices of a topology: cols = {} is past 65536",
         statistics.cols);
  if (index != IndexType::i32 || stored_index() == IndexType::i32 || wide_columns || statistics.nonzeros == 0) return;
  ops::QueuedMemory columns(queue, statistics.nonzeros * std::int64_t{sizeof(std::int32_t)});
  ops::gather(queue, column_indices.data(), IntegerType::u16, nullptr, statistics.nonzeros, columns.data(),
              IntegerType::i32);
  wide_columns = std::move(columns);
  queued = true;
}

void TopologyForms::derive_row_order(const ops::Queue& queue, bool& queued) {
  if (row_order || statistics.rows == 0) return;
  if (!host_offsets.empty()) {
    row_order = upload(queue, sparse::row_order(host_offsets));
    return;
  }
  ops::QueuedMemory order(queue, statistics.rows * std::int64_t{sizeof(std::int32_t)});
  ops::order_rows(queue, arrays(), statistics.longest_row, order.as<std::int32_t>());
  row_order = std::move(order);
  queued = true;
}

void TopologyForms::derive_slots(const ops::Queue& queue, const SlotShape& shape, IndexType index, bool& queued) {
  if (slot_tables.contains({shape.entries, shape.most_pieces, index})) return;
  if (const auto reason = ops::row_slots_declined(statistics, shape, index))
    fail(ErrorCode::unsupported, "cannot make row slots of a topology: {}", *reason);
  SlotTable table{.records = {}, .columns = {}, .count = ops::slot_room(statistics, shape)};
  ops::QueuedMemory first_slots;
  if (shape.most_pieces > 1 && statistics.rows > 0) {
    if (!host_offsets.empty()) {
      const std::vector<std::int32_t> firsts = sparse::first_slots(host_offsets, shape);
      first_slots = upload(queue, firsts);
      table.count = firsts.back();
    } else {
      first_slots = ops::QueuedMemory(queue, (statistics.rows + 1) * std::int64_t{sizeof(std::int32_t)});
      ops::find_first_slots(queue, arrays(), row_order.as<const std::int32_t>(), shape, first_slots.as<std::int32_t>());
    }
  }
  if (table.count > 0) {
    table.records = ops::QueuedMemory(queue, table.count * std::int64_t{sizeof(RowRecord)});
    table.columns = ops::QueuedMemory(queue, table.count * shape.entries * size_of(ops::integer_type(index)));
    ops::RowSlotSource source{.csr = arrays(),
                              .row_order = row_order.as<const std::int32_t>(),
                              .first_slots = first_slots.as<const std::int32_t>()};
    source.csr.column_indices = columns(index);
    source.csr.index = index;
    ops::fill_row_slots(queue, source, shape, table.count, table.records.as<RowRecord>(), table.columns.data());
    queued = true;
  }
  slot_tables.emplace(std::tuple{shape.entries, shape.most_pieces, index}, std::move(table));
}

void TopologyForms::derive_strips(const ops::Queue& queue, int entries, bool& queued) {
  if (wide_offsets)
    fail(ErrorCode::unsupported, "cannot cut rows into strips: {} nonzeros are past 2^31 - 1", statistics.nonzeros);
  if (strip_tables.contains(entries)) return;
  if (!host_offsets.empty()) {
    const std::vector<Strip> strips = sparse::strips(host_offsets, entries);
    strip_tables.emplace(
        entries, StripTable{.strips = upload(queue, strips), .count = static_cast<std::int64_t>(strips.size())});
    return;
  }
  StripTable table{.strips = {}, .count = ops::strip_room(statistics, entries)};
  if (table.count > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot cut rows into strips: {} strips of {} entries are past 2^31 - 1", table.count,
         entries);
  if (table.count > 0) {
    table.strips = ops::QueuedMemory(queue, table.count * std::int64_t{sizeof(Strip)});
    ops::cut_strips(queue, arrays(), entries, table.strips.as<Strip>(), table.count);
    queued = true;
  }
  strip_tables.emplace(entries, std::move(table));
}

void TopologyForms::derive_chunks(const ops::Queue& queue, int items, bool& queued) {
  if (chunk_tables.contains(items)) return;
  if (statistics.rows + statistics.nonzeros > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot cut a topology into chunks: {} rows and {} nonzeros are past 2^31 - 1",
         statistics.rows, statistics.nonzeros);
  ChunkTable table{.chunks = {}, .count = chunk_count(statistics.rows, statistics.nonzeros, items)};
  if (!host_offsets.empty()) {
    table.chunks = upload(queue, sparse::chunk_starts(host_offsets, items));
  } else {
    table.chunks = ops::QueuedMemory(queue, (table.count + 1) * std::int64_t{sizeof(ChunkStart)});
    ops::cut_chunks(queue, arrays(), items, table.chunks.as<ChunkStart>(), table.count);
    queued = true;
  }
  chunk_tables.emplace(items, std::move(table));
}

void TopologyForms::derive_panels(const ops::Queue& queue, int panel_rows, bool& queued) {
  if (panel_tables.contains(panel_rows)) return;
  if (const auto reason = ops::panels_declined(statistics, panel_rows))
    fail(ErrorCode::unsupported, "cannot cut a topology into panels: {}", *reason);
  ops::QueuedMemory starts(
      queue, panel_start_count(statistics.rows, statistics.cols, panel_rows) * std::int64_t{sizeof(std::int32_t)});
  ops::find_panel_starts(queue, arrays(), panel_rows, starts.as<std::int32_t>());
  panel_tables.emplace(panel_rows, std::move(starts));
  queued = true;
}

void TopologyForms::derive_tiles(const ops::Queue& queue, const TileShape& shape, bool& queued) {
  if (tile_tables.contains({shape.rows, shape.columns})) return;
  if (const auto reason = ops::tile_lists_declined(statistics, shape))
    fail(ErrorCode::unsupported, "cannot list tiles of a topology: {}", *reason);
  const std::int64_t count = ops::tile_room(statistics, shape);
  TileTable table{
      .tiles = ops::QueuedMemory(queue, count * std::int64_t{sizeof(SampleTile)}),
      .row_shifts = ops::QueuedMemory(queue, count * shape.rows * std::int64_t{sizeof(std::int32_t)}),
      .places = ops::QueuedMemory(queue, ops::entry_room(statistics, shape) * std::int64_t{sizeof(std::uint16_t)}),
      .count = count};
  if (count > 0) {
    ops::list_tiles(queue, arrays(), shape, statistics,
                    {.tiles = table.tiles.as<SampleTile>(),
                     .row_shifts = table.row_shifts.as<std::int32_t>(),
                     .places = table.places.as<std::uint16_t>()});
    queued = true;
  }
  tile_tables.emplace(std::pair{shape.rows, shape.columns}, std::move(table));
}

void TopologyForms::derive_packed_strips(const ops::Queue& queue, PackedGrain grain, bool& queued) {
  if (packed.contains(grain)) return;
  if (const auto reason = ops::packed_strips_declined(statistics, grain))
    fail(ErrorCode::unsupported, "cannot pack strips of a topology: {}", *reason);
  const std::int64_t strips = ops::packed_strip_count(statistics.rows, statistics.cols);
  const std::int64_t rows = packed_row_strips(statistics.rows) * packed_strip_rows();
  const std::int64_t nonzeros = statistics.nonzeros, placed = value_positions || !statistics.sorted ? nonzeros : 0;
  const std::int64_t slots =
      nonzeros + std::min(strips, nonzeros);  // at most one more for each strip with an odd number
  using Memory = ops::QueuedMemory;
  const std::int64_t headers = strips * packed_header_words(grain),
                     left_starts = grain == PackedGrain::four ? rows + 1 : 0;
  const std::int64_t offsets_bytes = Memory::bytes_of<std::uint32_t>(strips + 1);
  PackedParts parts{
      .offsets = Memory(queue, 2 * offsets_bytes + Memory::bytes_of<std::uint32_t>(left_starts)),
      .tables = Memory(queue, Memory::bytes_of<std::uint32_t>(headers) + offsets_bytes +
                                  Memory::bytes_of<std::int32_t>(strips * packed_strip_rows() + rows) +
                                  Memory::bytes_of<std::uint16_t>(slots) + Memory::bytes_of<std::int32_t>(placed))};
  ops::PackedFormParts pointers{.headers = parts.tables.take<std::uint32_t>(headers),
                                .row_starts = parts.tables.take<std::int32_t>(strips * packed_strip_rows() + rows),
                                .slot_offsets = parts.tables.take<std::uint32_t>(strips + 1),
                                .slots = parts.tables.take<std::uint16_t>(slots)};
  for (std::uint32_t*& offsets : pointers.unit_offsets) offsets = parts.offsets.take<std::uint32_t>(strips + 1);
  if (placed > 0) pointers.value_places = parts.tables.take<std::int32_t>(placed);
  ops::LeftOverParts left_over;
  if (grain == PackedGrain::four) {
    pointers.left_starts = parts.offsets.take<std::uint32_t>(left_starts);
    pointers.left_over = [&](std::uint32_t left) {
      parts.structure.left = left;
      parts.left_over = Memory(queue, Memory::bytes_of<std::uint32_t>(left) + Memory::bytes_of<std::int32_t>(left));
      left_over.places = parts.left_over.take<std::uint32_t>(left);
      left_over.sources = parts.left_over.take<std::int32_t>(left);
      return left_over;
    };
  }
  queued = true;
  ops::make_packed_form(queue, {.csr = arrays(), .value_positions = value_positions.as<const std::int32_t>()}, grain,
                        pointers);
  parts.structure = {.headers = pointers.headers,
                     .row_starts = pointers.row_starts,
                     .slot_offsets = pointers.slot_offsets,
                     .slots = pointers.slots,
                     .value_places = pointers.value_places,
                     .unit_offsets = {pointers.unit_offsets[0], pointers.unit_offsets[1]},
                     .left_starts = pointers.left_starts,
                     .left_places = left_over.places,
                     .left_sources = left_over.sources,
                     .nonzeros = static_cast<unsigned>(statistics.nonzeros),
                     .row_strips = static_cast<unsigned>(packed_row_strips(statistics.rows)),
                     .k_blocks = static_cast<unsigned>(packed_k_blocks(statistics.cols)),
                     .units = {},
                     .left = parts.structure.left,
                     .grain = grain};
  for (const int words : {0, 1})
    queue.device().copy_to_host(&parts.structure.units[words], pointers.unit_offsets[words] + strips,
                                sizeof(parts.structure.units[words]));
  packed.emplace(grain, std::move(parts));
}

void TopologyForms::derive_runs(const ops::Queue& queue, int gap_bits, bool& queued) {
  if (run_tables.contains(gap_bits)) return;
  if (const auto reason = ops::packed_runs_declined(statistics, gap_bits))
    fail(ErrorCode::unsupported, "cannot pack runs of a topology: {}", *reason);
  RunTable table{.row_runs = ops::QueuedMemory(queue, (statistics.rows + 1) * std::int64_t{sizeof(std::uint32_t)})};
  const ops::RunSource source{.csr = arrays(), .gap_bits = gap_bits};
  const ops::RunSlots slots = ops::count_runs(queue, source, table.row_runs.as<std::uint32_t>());
  queued = true;
  std::uint32_t runs = 0;
  queue.device().copy_to_host(&runs, table.row_runs.as<const std::uint32_t>() + statistics.rows, sizeof(runs));
  const std::int64_t groups = ceil_div(std::int64_t{runs}, group_runs());
  const std::int64_t room = groups * group_runs();
  table.starts = ops::QueuedMemory(queue, room * std::int64_t{sizeof(std::uint16_t)});
  table.counts = ops::QueuedMemory(queue, room);
  table.codes = ops::QueuedMemory(queue, room * code_pieces(gap_bits) * run_piece_bytes());
  table.firsts = ops::QueuedMemory(queue, room * std::int64_t{sizeof(std::int32_t)});
  if (value_positions) {
    table.positions = ops::QueuedMemory(queue, value_positions.bytes());
    ops::gather(queue, value_positions.data(), IntegerType::i32, nullptr, statistics.nonzeros, table.positions.data(),
                IntegerType::i32);
  }
  const ops::RunParts parts{.row_runs = table.row_runs.as<const std::uint32_t>(),
                            .starts = table.starts.as<std::uint16_t>(),
                            .counts = table.counts.as<std::uint8_t>(),
                            .codes = table.codes.as<std::uint32_t>(),
                            .firsts = table.firsts.as<std::int32_t>()};
  ops::place_runs(queue, source, slots, parts, groups);
  table.structure = {.row_runs = parts.row_runs,
                     .starts = parts.starts,
                     .counts = parts.counts,
                     .codes = parts.codes,
                     .firsts = parts.firsts,
                     .positions = table.positions.as<const std::int32_t>(),
                     .runs = runs,
                     .groups = static_cast<unsigned>(groups),
                     .gap_bits = gap_bits};
  run_tables.emplace(gap_bits, std::move(table));
}

void TopologyForms::derive_sparse_strips(const ops::Queue& queue, bool& queued) {
  if (sparse.made) return;
  if (const auto reason = ops::sparse_strips_declined(statistics))
    fail(ErrorCode::unsupported, "cannot make sparse strips of a topology: {}", *reason);
  const std::int64_t strips = ops::packed_strip_count(statistics.rows, statistics.cols);
  const auto words = [&](std::int64_t count) {
    return ops::QueuedMemory(queue, count * std::int64_t{sizeof(std::uint32_t)});
  };
  SparseParts parts{.groups = words(strips * packed_lanes()),
                    .headers = words(strips),
                    .nonzero_offsets = words(strips + 1),
                    .unit_offsets = words(strips + 1),
                    .sources = words(statistics.nonzeros)};
  const ops::SparseFormParts pointers{.groups = parts.groups.as<std::uint32_t>(),
                                      .headers = parts.headers.as<std::uint32_t>(),
                                      .nonzero_offsets = parts.nonzero_offsets.as<std::uint32_t>(),
                                      .unit_offsets = parts.unit_offsets.as<std::uint32_t>(),
                                      .sources = parts.sources.as<std::int32_t>()};
  ops::make_sparse_form(queue, {.csr = arrays(), .value_positions = value_positions.as<const std::int32_t>()},
                        pointers);
  queued = true;
  unsigned units = 0;
  queue.device().copy_to_host(&units, pointers.unit_offsets + strips, sizeof(units));
  parts.structure = {.groups = pointers.groups,
                     .headers = pointers.headers,
                     .nonzero_offsets = pointers.nonzero_offsets,
                     .unit_offsets = pointers.unit_offsets,
                     .sources = pointers.sources,
                     .row_strips = static_cast<unsigned>(packed_row_strips(statistics.rows)),
                     .k_blocks = static_cast<unsigned>(packed_k_blocks(statistics.cols)),
                     .units = units};
  parts.made = true;
  sparse = std::move(parts);
}

ops::TopologyPointers TopologyForms::pointers(const ops::TopologyNeeds& needs) const {
  if (needs.packed_strips) return {.packed = packed.at(*needs.packed_strips).structure};
  if (needs.run_gap_bits > 0) return {.runs = run_tables.at(needs.run_gap_bits).structure};
  if (needs.sparse_strips) return {.sparse = sparse.structure};
  ops::TopologyPointers pointers{.row_offsets = row_offsets.data(),
                                 .column_indices = columns(needs.index),
                                 .row_order = needs.row_order ? row_order.as<const std::int32_t>() : nullptr,
                                 .value_positions = value_positions.as<const std::int32_t>()};
  if (needs.slots.entries > 0) {
    const SlotTable& table = slot_tables.at({needs.slots.entries, needs.slots.most_pieces, needs.index});
    pointers.slots = {.records = table.records.as<const RowRecord>(),
                      .columns = table.columns.data(),
                      .count = static_cast<unsigned>(table.count)};
  }
  if (needs.strip_entries > 0) {
    const StripTable& table = strip_tables.at(needs.strip_entries);
    pointers.strips = table.strips.as<const Strip>();
    pointers.strip_count = table.count;
  }
  if (needs.chunk_items > 0) {
    const ChunkTable& table = chunk_tables.at(needs.chunk_items);
    pointers.chunks = table.chunks.as<const ChunkStart>();
    pointers.chunk_count = table.count;
  }
  if (needs.panel_rows > 0) pointers.panel_starts = panel_tables.at(needs.panel_rows).as<const std::int32_t>();
  if (needs.tiles.rows > 0) {
    const TileTable& table = tile_tables.at({needs.tiles.rows, needs.tiles.columns});
    pointers.tile_lists = {.tiles = table.tiles.as<const SampleTile>(),
                           .row_shifts = table.row_shifts.as<const std::int32_t>(),
                           .places = table.places.as<const std::uint16_t>(),
                           .tile_count = static_cast<unsigned>(table.count)};
  }
  if (needs.key_tile_queries > 0) pointers.key_tiles = key_tables.at(blocks_of(needs)).tiles();
  return pointers;
}

}  // namespace vostok::plan
