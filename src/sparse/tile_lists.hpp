// Lists of a mask's tiles (abi/tile_lists.h) on the host: what devices' are compared with.
#pragma once

#include <cstdint>
#include <vector>

#include <abi/tile_lists.h>

#include "sparse/csr.hpp"

namespace vostok::sparse {

/// TileLists in vectors, without tiles that hold nothing.
struct TileListForm {
  std::vector<SampleTile> tiles = {};
  std::vector<std::int32_t> row_shifts = {};
  std::vector<std::uint16_t> places = {};
};

/// Errors: unsupported (a row that is not sorted, 2^31 nonzeros and more).
TileListForm tile_lists(const Csr& csr, const TileShape& shape);

}  // namespace vostok::sparse
