#include "sparse/tile_lists.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace vostok::sparse {

namespace {

/// Where the row that a tile is made of has come to, for each row of the tile.
using Cursors = std::vector<std::int64_t>;

std::int64_t row_end(const Csr& csr, std::int64_t row) { return csr.row_offsets[static_cast<std::size_t>(row) + 1]; }

/// Appends the tile's entries, and moves the cursors past them.
void append_tile(const Csr& csr, const TileShape& shape, std::int64_t row_tile, std::int64_t column_tile,
                 Cursors& cursors, TileListForm& form) {
  SampleTile tile = {.row_tile = static_cast<unsigned>(row_tile),
                     .column_tile = static_cast<unsigned>(column_tile),
                     .first_entry = static_cast<unsigned>(form.places.size())};
  std::vector<std::int32_t> shifts;
  for (int row = 0; row < shape.rows; ++row) {
    const std::int64_t matrix_row = row_tile * shape.rows + row;
    std::int64_t& at = cursors[static_cast<std::size_t>(row)];
    shifts.push_back(matrix_row < csr.rows ? static_cast<std::int32_t>(at - tile.entries)
                                           : 0 - static_cast<std::int32_t>(tile.entries));
    if (matrix_row >= csr.rows) continue;
    for (; at < row_end(csr, matrix_row); ++at, ++tile.entries) {
      const std::int64_t column = csr.column_indices[static_cast<std::size_t>(at)] - column_tile * shape.columns;
      if (column >= shape.columns) break;
      form.places.push_back(static_cast<std::uint16_t>(row * shape.columns + column));
    }
  }
  if (tile.entries == 0) return;
  form.places.resize(
      static_cast<std::size_t>(round_up(static_cast<std::int64_t>(form.places.size()), entries_of_chunk())), 0);
  form.row_shifts.insert(form.row_shifts.end(), shifts.begin(), shifts.end());
  form.tiles.push_back(tile);
}

}  // namespace

TileListForm tile_lists(const Csr& csr, const TileShape& shape) {
  if (csr.nonzeros() > std::numeric_limits<std::int32_t>::max())
    fail(ErrorCode::unsupported, "cannot list tiles: {} nonzeros are past 2^31 - 1", csr.nonzeros());
  for (std::int64_t row = 0; row < csr.rows; ++row)
    if (!std::is_sorted(csr.column_indices.begin() + csr.row_offsets[static_cast<std::size_t>(row)],
                        csr.column_indices.begin() + row_end(csr, row)))
      fail(ErrorCode::unsupported, "cannot list tiles: row {} is not sorted", row);
  TileListForm form;
  for (std::int64_t row_tile = 0; row_tile < ceil_div(csr.rows, shape.rows); ++row_tile) {
    Cursors cursors(static_cast<std::size_t>(shape.rows), 0);
    for (std::int64_t row = row_tile * shape.rows; row < std::min(csr.rows, (row_tile + 1) * shape.rows); ++row)
      cursors[static_cast<std::size_t>(row % shape.rows)] = csr.row_offsets[static_cast<std::size_t>(row)];
    for (std::int64_t column_tile = 0; column_tile < ceil_div(csr.cols, shape.columns); ++column_tile)
      append_tile(csr, shape, row_tile, column_tile, cursors, form);
  }
  return form;
}

}  // namespace vostok::sparse
