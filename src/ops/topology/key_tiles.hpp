// Tiles of the keys that blocks of queries name (abi/key_tiles.h), in device memory, made from CSR: sparse::key_tiles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/topology.hpp>

#include <abi/key_tiles.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// Why a mask has no such tiles; nothing if it has.
std::optional<std::string> key_tiles_declined(const TopologyStatistics& statistics, int queries);

/// Blocks of so many queries.
std::int64_t query_blocks(std::int64_t rows, int queries);

/// Upper bound on the tiles of all blocks, for masks with these statistics.
std::int64_t key_tile_room(const TopologyStatistics& statistics, int queries);

/// Queues the numbers of the blocks' first tiles, blocks + 1 of them.
void count_key_tiles(const Queue& queue, const CsrArrays& csr, int queries, std::int32_t* first_tiles);

/// The output arrays, for as many tiles as were counted.
struct KeyTileParts {
  const std::int32_t* first_tiles = nullptr;
  std::int32_t* order = nullptr;
  std::int32_t* keys = nullptr;
  std::uint32_t* bits = nullptr;
};

/// Queues the places of queries' first elements of tiles, [tiles, queries], of tiles that were filled.
void start_key_tiles(const Queue& queue, const CsrArrays& csr, int queries, const KeyTileParts& parts,
                     std::int32_t* starts);

/// Queues the rest.
void fill_key_tiles(const Queue& queue, const CsrArrays& csr, int queries, std::int64_t tiles,
                    const KeyTileParts& parts);

}  // namespace vostok::ops
