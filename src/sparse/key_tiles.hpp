// Tiles of the keys that blocks of queries name (abi/key_tiles.h) on the host: what devices' are compared with.
#pragma once

#include <cstdint>
#include <vector>

#include <abi/key_tiles.h>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// KeyTiles in vectors.
struct KeyTileForm {
  std::vector<std::int32_t> first_tiles = {0};
  std::vector<std::int32_t> order = {};
  std::vector<std::int32_t> keys = {};
  std::vector<std::uint32_t> bits = {};
  std::vector<std::uint32_t> taken = {};
  std::vector<std::int32_t> starts = {};  ///< -1 where a query has no key in a tile; of one part
};

/// Of sorted rows that name no key twice.
KeyTileForm key_tiles(const Csr& mask, int block_queries, int parts = 1);

}  // namespace vostok::sparse
