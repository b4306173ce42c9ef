// A topology's tiles of keys, for attention.
#include "ops/topology/key_tiles.hpp"

#include <utility>

#include "base/text.hpp"
#include "plan/topology_forms.hpp"

namespace vostok::plan {

ops::KeyTileParts TopologyForms::KeyTable::parts() const {
  return {.first_tiles = first_tiles.as<const std::int32_t>(),
          .order = order.as<std::int32_t>(),
          .keys = keys.as<std::int32_t>(),
          .bits = bits.as<std::uint32_t>()};
}

KeyTiles TopologyForms::KeyTable::tiles() const {
  return {.first_tiles = first_tiles.as<const std::int32_t>(),
          .order = order.as<const std::int32_t>(),
          .keys = keys.as<const std::int32_t>(),
          .bits = bits.as<const std::uint32_t>(),
          .starts = starts.as<const std::int32_t>(),
          .block_count = block_count,
          .tile_count = tile_count};
}

void TopologyForms::derive_key_tiles(const ops::Queue& queue, int queries, bool& queued) {
  if (key_tables.contains(queries)) return;
  if (const auto reason = ops::key_tiles_declined(statistics, queries))
    fail(ErrorCode::unsupported, "cannot make tiles of keys of a topology: {}", *reason);
  using Memory = ops::QueuedMemory;
  const std::int64_t blocks = ops::query_blocks(statistics.rows, queries);
  KeyTable table{.first_tiles = Memory(queue, (blocks + 1) * std::int64_t{sizeof(std::int32_t)}),
                 .block_count = static_cast<int>(blocks)};
  auto* const first_tiles = table.first_tiles.as<std::int32_t>();
  queued = true;
  ops::count_key_tiles(queue, arrays(), queries, first_tiles);
  queue.device().copy_to_host(&table.tile_count, first_tiles + blocks, sizeof(table.tile_count));
  const std::int64_t tiles = table.tile_count;
  table.order = Memory(queue, blocks * std::int64_t{sizeof(std::int32_t)});
  table.keys = Memory(queue, tiles * tile_keys() * std::int64_t{sizeof(std::int32_t)});
  table.bits = Memory(queue, tiles * tile_words(queries) * std::int64_t{sizeof(std::uint32_t)});
  ops::fill_key_tiles(queue, arrays(), queries, tiles, table.parts());
  key_tables.emplace(queries, std::move(table));
}

void TopologyForms::derive_key_starts(const ops::Queue& queue, int queries, bool& queued) {
  KeyTable& table = key_tables.at(queries);
  if (table.starts || table.tile_count == 0) return;
  table.starts = ops::QueuedMemory(queue, std::int64_t{table.tile_count} * queries * sizeof(std::int32_t));
  queued = true;
  ops::start_key_tiles(queue, arrays(), queries, table.parts(), table.starts.as<std::int32_t>());
}

}  // namespace vostok::plan
