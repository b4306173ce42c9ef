#include "ops/topology/key_tiles.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

constexpr std::int64_t most_narrow = std::numeric_limits<std::int32_t>::max();

Step<KeyStepTraits> step(const char* kernel, IndexType index, int parts) {
  return {.header = "topology/key_tiles.h",
          .kernel = kernel,
          .traits_type = "KeyStepTraits",
          .traits = {.index = index, .parts = parts},
          .shared_bytes = key_step_shared_bytes(parts)};
}

KeyStepArgs arguments(const CsrArrays& csr, QueryBlocks blocks, const KeyTileParts& parts) {
  return {.row_offsets = static_cast<const int*>(csr.row_offsets),
          .column_indices = csr.column_indices,
          .tile_counts = nullptr,
          .class_keys = parts.class_keys,
          .first_tiles = parts.first_tiles,
          .keys = parts.keys,
          .bits = parts.bits,
          .taken = parts.taken,
          .starts = nullptr,
          .rows = csr.rows,
          .cols = csr.cols,
          .block_queries = blocks.queries,
          .block_count = static_cast<int>(query_blocks(csr.rows, blocks.queries)),
          .tile_count = parts.tile_count};
}

}  // namespace

std::int64_t query_blocks(std::int64_t rows, int queries) { return ceil_div(rows, queries); }

std::int64_t key_tile_room(const TopologyStatistics& statistics, QueryBlocks blocks) {
  const std::int64_t count = query_blocks(statistics.rows, blocks.queries);
  const std::int64_t of_block =
      std::min(statistics.cols, checked_multiply(statistics.longest_row, blocks.queries, "keys of a block of queries"));
  const std::int64_t whole = std::min(checked_multiply(count, ceil_div(of_block, tile_keys()), "tiles of keys"),
                                      ceil_div(statistics.nonzeros, tile_keys()) + count);
  return whole + count * (key_classes(blocks.parts) - 1);  // of each class the last tile may have one key
}

std::optional<std::string> key_tiles_declined(const TopologyStatistics& statistics, QueryBlocks blocks) {
  if (statistics.duplicates || !statistics.sorted)
    return "a bit says whether a query names a key: rows of the mask are sorted and name no key twice";
  if (statistics.nonzeros > most_narrow || statistics.cols > most_narrow ||
      key_tile_room(statistics, blocks) > most_narrow / tile_keys())
    return "nonzeros, keys and places in tiles are numbered in 32 bits";
  return std::nullopt;
}

void count_key_tiles(const Queue& queue, const CsrArrays& csr, QueryBlocks blocks, std::int32_t* first_tiles,
                     std::uint32_t* class_keys) {
  KeyStepArgs args = arguments(csr, blocks, {.class_keys = class_keys});
  const QueuedMemory counts(queue, QueuedMemory::bytes_of<std::uint32_t>(args.block_count));
  args.tile_counts = counts.as<std::uint32_t>();
  queue.launch(step("count_key_tiles", csr.index, blocks.parts), args.block_count, args);
  exclusive_scan(queue, args.tile_counts, args.block_count, first_tiles, false);
}

void fill_key_tiles(const Queue& queue, const CsrArrays& csr, QueryBlocks blocks, const KeyTileParts& parts) {
  const KeyStepArgs args = arguments(csr, blocks, parts);
  const std::int64_t tiles = parts.tile_count;
  queue.fill_zero(parts.bits, tiles * tile_words(blocks.queries) * std::int64_t{sizeof(std::uint32_t)});
  if (blocks.parts > 1)
    queue.fill_zero(parts.taken, blocks.parts * taken_words(tiles) * std::int64_t{sizeof(std::uint32_t)});
  queue.launch(step("fill_key_tiles", csr.index, blocks.parts), args.block_count, args);
  // Blocks are ordered as rows of so many nonzeros are.
  const CsrArrays rows{.row_offsets = parts.first_tiles, .rows = args.block_count, .nonzeros = tiles};
  order_rows(queue, rows, ceil_div(csr.cols, tile_keys()) + key_classes(blocks.parts) - 1, parts.order);
}

void start_key_tiles(const Queue& queue, const CsrArrays& csr, QueryBlocks blocks, const KeyTileParts& parts,
                     std::int32_t* starts) {
  KeyStepArgs args = arguments(csr, blocks, parts);
  args.starts = starts;
  queue.launch(step("start_key_tiles", csr.index, blocks.parts), args.block_count, args);
}

}  // namespace vostok::ops
