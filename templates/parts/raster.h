// The order in which a grid's blocks walk the tiles of a product: raster_rows row tiles, then the next column tile of
// the same, so that blocks that run together share what they read.
#pragma once

namespace vostok {

struct RasterPlace {
  unsigned row_tile;
  unsigned column_tile;
};

/// Where block `number` of row_tiles * column_tiles is. Divisions by what is known only here take as long as a load
/// from cache: there is one.
template <unsigned raster_rows>
__device__ inline RasterPlace raster_place(unsigned number, unsigned row_tiles, unsigned column_tiles) {
  const unsigned group = row_tiles <= raster_rows ? 0 : number / raster_rows / column_tiles;
  const unsigned within = number - group * raster_rows * column_tiles;
  const unsigned first = group * raster_rows;
  const unsigned left = row_tiles - first;
  if (left >= raster_rows) return {first + within % raster_rows, within / raster_rows};
  return {first + within % left, within / left};
}

}  // namespace vostok
