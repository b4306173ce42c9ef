// Tiles of the keys that blocks of queries name (abi/key_tiles.h), in device memory, made from CSR: sparse::key_tiles.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include <vostok/topology.hpp>

#include <abi/key_tiles.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// How a mask's queries are cut.
struct QueryBlocks {
  int queries = 0;  ///< of a block
  int parts = 1;    ///< of it that may each skip tiles (abi/key_tiles.h)

  friend constexpr auto operator<=>(const QueryBlocks&, const QueryBlocks&) = default;
};

/// Why a mask has no such tiles; nothing if it has.
std::optional<std::string> key_tiles_declined(const TopologyStatistics& statistics, QueryBlocks blocks);

/// Blocks of so many queries.
std::int64_t query_blocks(std::int64_t rows, int queries);

/// Upper bound on the tiles of all blocks, for masks with these statistics.
std::int64_t key_tile_room(const TopologyStatistics& statistics, QueryBlocks blocks);

/// Queues the numbers of the blocks' first tiles, blocks + 1 of them, and [blocks, classes] keys of each class.
void count_key_tiles(const Queue& queue, const CsrArrays& csr, QueryBlocks blocks, std::int32_t* first_tiles,
                     std::uint32_t* class_keys);

/// The arrays: what was counted, and what is filled.
struct KeyTileParts {
  const std::int32_t* first_tiles = nullptr;
  std::uint32_t* class_keys = nullptr;
  std::int32_t tile_count = 0;
  std::int32_t* order = nullptr;
  std::int32_t* keys = nullptr;
  std::uint32_t* bits = nullptr;
  std::uint32_t* taken = nullptr;
};

/// Queues what is filled.
void fill_key_tiles(const Queue& queue, const CsrArrays& csr, QueryBlocks blocks, const KeyTileParts& parts);

/// Queues the places of queries' first elements of tiles, [tiles, queries], of tiles that were filled. Blocks have one
/// part: elements of a query do not ascend from tile to tile else.
void start_key_tiles(const Queue& queue, const CsrArrays& csr, QueryBlocks blocks, const KeyTileParts& parts,
                     std::int32_t* starts);

}  // namespace vostok::ops
