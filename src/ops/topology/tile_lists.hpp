// Lists of a mask's tiles (abi/tile_lists.h) in device memory, made from CSR: sparse::tile_lists, bit for bit.
// Everything is queued; nothing waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <vostok/topology.hpp>

#include <abi/tile_lists.h>

#include "ops/topology/csr.hpp"

namespace vostok::ops {

/// Why a mask has no such lists; nothing if it has.
std::optional<std::string> tile_lists_declined(const TopologyStatistics& statistics, const TileShape& shape);

/// Tiles of the matrix, with and without nonzeros.
std::int64_t tiles_of_matrix(const TopologyStatistics& statistics, const TileShape& shape);
/// Upper bounds for structures with these statistics: tiles with nonzeros, and entries of their lists.
std::int64_t tile_room(const TopologyStatistics& statistics, const TileShape& shape);
std::int64_t entry_room(const TopologyStatistics& statistics, const TileShape& shape);

/// The output arrays; tile_room and entry_room give their lengths.
struct TileListParts {
  SampleTile* tiles = nullptr;
  std::int32_t* row_shifts = nullptr;
  std::uint16_t* places = nullptr;
};

/// `csr`: 32-bit offsets, rows sorted. Unused tiles and entries are zeroed.
void list_tiles(const Queue& queue, const CsrArrays& csr, const TileShape& shape, const TopologyStatistics& statistics,
                const TileListParts& parts);

}  // namespace vostok::ops
