// A topology's tiles of keys, for attention.
#include "ops/topology/key_tiles.hpp"

#include <utility>

#include "base/text.hpp"
#include "plan/topology_forms.hpp"

namespace vostok::plan {

ops::KeyTileParts TopologyForms::KeyTable::parts() const {
  return {.first_tiles = first_tiles.as<const std::int32_t>(),
          .tile_count = tile_count,
          .order = order.as<std::int32_t>(),
          .keys = keys.as<std::int32_t>(),
          .bits = bits.as<std::uint32_t>(),
          .taken = taken.as<std::uint32_t>()};
}

KeyTiles TopologyForms::KeyTable::tiles() const {
  return {.first_tiles = first_tiles.as<const std::int32_t>(),
          .order = order.as<const std::int32_t>(),
          .keys = keys.as<const std::int32_t>(),
          .bits = bits.as<const std::uint32_t>(),
          .taken = taken.as<const std::uint32_t>(),
          .starts = starts.as<const std::int32_t>(),
          .block_count = block_count,
          .tile_count = tile_count};
}

void TopologyForms::derive_key_tiles(const ops::Queue& queue, ops::QueryBlocks blocks, bool& queued) {
  if (key_tables.contains(blocks)) return;
  if (const auto reason = ops::key_tiles_declined(statistics, blocks))
    fail(ErrorCode::unsupported, "cannot make tiles of keys of a topology: {}", *reason);
  using Memory = ops::QueuedMemory;
  const auto words = [&](std::int64_t count) { return Memory(queue, count * std::int64_t{sizeof(std::uint32_t)}); };
  const std::int64_t count = ops::query_blocks(statistics.rows, blocks.queries);
  const Memory class_keys = words(count * key_classes(blocks.parts));
  KeyTable table{.first_tiles = words(count + 1), .block_count = static_cast<int>(count)};
  auto* const first_tiles = table.first_tiles.as<std::int32_t>();
  queued = true;
  ops::count_key_tiles(queue, arrays(), blocks, first_tiles, class_keys.as<std::uint32_t>());
  queue.device().copy_to_host(&table.tile_count, first_tiles + count, sizeof(table.tile_count));
  const std::int64_t tiles = table.tile_count;
  table.order = words(count);
  table.keys = words(tiles * tile_keys());
  table.bits = words(tiles * tile_words(blocks.queries));
  if (blocks.parts > 1) table.taken = words(blocks.parts * taken_words(tiles));
  ops::KeyTileParts parts = table.parts();
  parts.class_keys = class_keys.as<std::uint32_t>();
  ops::fill_key_tiles(queue, arrays(), blocks, parts);
  key_tables.emplace(blocks, std::move(table));
}

void TopologyForms::derive_key_starts(const ops::Queue& queue, ops::QueryBlocks blocks, bool& queued) {
  KeyTable& table = key_tables.at(blocks);
  if (table.starts || table.tile_count == 0) return;
  table.starts =
      ops::QueuedMemory(queue, std::int64_t{table.tile_count} * blocks.queries * std::int64_t{sizeof(std::int32_t)});
  queued = true;
  ops::start_key_tiles(queue, arrays(), blocks, table.parts(), table.starts.as<std::int32_t>());
}

}  // namespace vostok::plan
