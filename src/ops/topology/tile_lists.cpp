#include "ops/topology/tile_lists.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/form_bytes.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

constexpr std::int64_t most_narrow = std::numeric_limits<std::int32_t>::max();

Step<TileStepTraits> step(const char* kernel, IndexType index) {
  return {"topology/tile_lists.h", kernel, "TileStepTraits", {.index = index}};
}

}  // namespace

std::optional<std::string> tile_lists_declined(const TopologyStatistics& statistics, const TileShape& shape) {
  constexpr std::int64_t bytes_per_nonzero = 64;
  if (!statistics.sorted) return "tiles are listed by sorted rows: a row of the mask is not";
  if (statistics.nonzeros > most_narrow || tiles_of_matrix(statistics, shape) > most_narrow ||
      entry_room(statistics, shape) > most_narrow)
    return "tiles and their entries are numbered in 32 bits";
  const std::int64_t bytes = tile_room(statistics, shape) * shape.rows * std::int64_t{sizeof(std::int32_t)};
  if (is_mostly_room(bytes, statistics.nonzeros, bytes_per_nonzero))
    return fmt::format("nearly all tiles would be empty: {} bytes of lists for {} nonzeros", bytes,
                       statistics.nonzeros);
  return std::nullopt;
}

std::int64_t tiles_of_matrix(const TopologyStatistics& statistics, const TileShape& shape) {
  return checked_multiply(ceil_div(statistics.rows, shape.rows), ceil_div(statistics.cols, shape.columns),
                          "tiles of a mask");
}

std::int64_t tile_room(const TopologyStatistics& statistics, const TileShape& shape) {
  return std::min(tiles_of_matrix(statistics, shape), statistics.nonzeros);
}

std::int64_t entry_room(const TopologyStatistics& statistics, const TileShape& shape) {
  return round_up(statistics.nonzeros, entries_of_chunk()) +
         tile_room(statistics, shape) * (entries_of_chunk() - 1) / entries_of_chunk() * entries_of_chunk();
}

void list_tiles(const Queue& queue, const CsrArrays& csr, const TileShape& shape, const TopologyStatistics& statistics,
                const TileListParts& parts) {
  const std::int64_t tiles = tiles_of_matrix(statistics, shape);
  const std::int64_t room = tile_room(statistics, shape);
  QueuedMemory scratch(
      queue, 2 * QueuedMemory::bytes_of<std::uint32_t>(tiles) + 2 * QueuedMemory::bytes_of<std::int32_t>(tiles + 1));
  auto* const list_lengths = scratch.take<std::uint32_t>(tiles);
  auto* const occupied = scratch.take<std::uint32_t>(tiles);
  auto* const first_entries = scratch.take<std::int32_t>(tiles + 1);
  auto* const numbers = scratch.take<std::int32_t>(tiles + 1);
  const TileStepArgs args = {.row_offsets = static_cast<const int*>(csr.row_offsets),
                             .column_indices = csr.column_indices,
                             .list_lengths = list_lengths,
                             .occupied = occupied,
                             .first_entries = first_entries,
                             .numbers = numbers,
                             .tiles = parts.tiles,
                             .row_shifts = parts.row_shifts,
                             .places = parts.places,
                             .rows = csr.rows,
                             .nonzeros = csr.nonzeros,
                             .tile_count = tiles,
                             .tile_rows = shape.rows,
                             .tile_columns = shape.columns,
                             .column_tiles = static_cast<int>(ceil_div(csr.cols, shape.columns))};
  queue.fill_zero(parts.tiles, room * std::int64_t{sizeof(SampleTile)});
  queue.fill_zero(parts.row_shifts, room * shape.rows * std::int64_t{sizeof(std::int32_t)});
  queue.fill_zero(parts.places, entry_room(statistics, shape) * std::int64_t{sizeof(std::uint16_t)});
  queue.launch(step("count_tiles", csr.index), queue.blocks_for(tiles * 32), args);
  exclusive_scan(queue, list_lengths, tiles, first_entries, false);
  exclusive_scan(queue, occupied, tiles, numbers, false);
  queue.launch(step("list_tiles", csr.index), queue.blocks_for(tiles * 32), args);
  queue.launch(step("place_entries", csr.index), queue.blocks_for(csr.nonzeros), args);
}

}  // namespace vostok::ops
