#include "ops/topology/key_tiles.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

constexpr std::int64_t most_narrow = std::numeric_limits<std::int32_t>::max();

Step<KeyStepTraits> step(const char* kernel, IndexType index) {
  return {.header = "topology/key_tiles.h",
          .kernel = kernel,
          .traits_type = "KeyStepTraits",
          .traits = {.index = index},
          .shared_bytes = key_step_shared_bytes()};
}

KeyStepArgs arguments(const CsrArrays& csr, int queries) {
  return {.row_offsets = static_cast<const int*>(csr.row_offsets),
          .column_indices = csr.column_indices,
          .tile_counts = nullptr,
          .first_tiles = nullptr,
          .keys = nullptr,
          .bits = nullptr,
          .starts = nullptr,
          .rows = csr.rows,
          .cols = csr.cols,
          .block_queries = queries,
          .block_count = static_cast<int>(query_blocks(csr.rows, queries))};
}

}  // namespace

std::int64_t query_blocks(std::int64_t rows, int queries) { return ceil_div(rows, queries); }

std::int64_t key_tile_room(const TopologyStatistics& statistics, int queries) {
  const std::int64_t blocks = query_blocks(statistics.rows, queries);
  const std::int64_t of_block =
      std::min(statistics.cols, checked_multiply(statistics.longest_row, queries, "keys of a block of queries"));
  return std::min(checked_multiply(blocks, ceil_div(of_block, tile_keys()), "tiles of keys"),
                  ceil_div(statistics.nonzeros, tile_keys()) + blocks);
}

std::optional<std::string> key_tiles_declined(const TopologyStatistics& statistics, int queries) {
  if (statistics.duplicates || !statistics.sorted)
    return "a bit says whether a query names a key: rows of the mask are sorted and name no key twice";
  if (statistics.nonzeros > most_narrow || statistics.cols > most_narrow ||
      key_tile_room(statistics, queries) > most_narrow / tile_keys())
    return "nonzeros, keys and places in tiles are numbered in 32 bits";
  return std::nullopt;
}

void count_key_tiles(const Queue& queue, const CsrArrays& csr, int queries, std::int32_t* first_tiles) {
  KeyStepArgs args = arguments(csr, queries);
  const QueuedMemory counts(queue, QueuedMemory::bytes_of<std::uint32_t>(args.block_count));
  args.tile_counts = counts.as<std::uint32_t>();
  queue.launch(step("count_key_tiles", csr.index), args.block_count, args);
  exclusive_scan(queue, args.tile_counts, args.block_count, first_tiles, false);
}

void fill_key_tiles(const Queue& queue, const CsrArrays& csr, int queries, std::int64_t tiles,
                    const KeyTileParts& parts) {
  KeyStepArgs args = arguments(csr, queries);
  args.first_tiles = parts.first_tiles;
  args.keys = parts.keys;
  args.bits = parts.bits;
  queue.fill_zero(parts.bits, tiles * tile_words(queries) * std::int64_t{sizeof(std::uint32_t)});
  queue.launch(step("fill_key_tiles", csr.index), args.block_count, args);
  // Blocks are ordered as rows of so many nonzeros are.
  const CsrArrays blocks{.row_offsets = parts.first_tiles, .rows = args.block_count, .nonzeros = tiles};
  order_rows(queue, blocks, ceil_div(csr.cols, tile_keys()), parts.order);
}

void start_key_tiles(const Queue& queue, const CsrArrays& csr, int queries, const KeyTileParts& parts,
                     std::int32_t* starts) {
  KeyStepArgs args = arguments(csr, queries);
  args.first_tiles = parts.first_tiles;
  args.bits = parts.bits;
  args.starts = starts;
  queue.launch(step("start_key_tiles", csr.index), args.block_count, args);
}

}  // namespace vostok::ops
