#include "sparse/key_tiles.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>

#include "base/checked.hpp"

namespace vostok::sparse {

namespace {

/// The word and the bit of a query's key, as fragments of scores have them.
void note(std::uint32_t* tile, std::int64_t query, std::int64_t key) {
  const std::int64_t row = query % strip_queries();
  const std::int64_t lane = 4 * (row % 8) + key % 8 / 2;
  tile[query / strip_queries() * 32 + lane] |= 1U << (4 * (key / 8) + 2 * (row / 8) + key % 2);
}

/// The parts of rows [first, end) that name each column, a bit each.
std::map<std::int32_t, unsigned> named_columns(const Csr& mask, std::int64_t first, std::int64_t end,
                                               std::int64_t part_rows) {
  std::map<std::int32_t, unsigned> columns;
  for (std::int64_t row = first; row < end; ++row)
    for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)];
         i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i)
      columns[mask.column_indices[static_cast<std::size_t>(i)]] |= 1U << (row - first) / part_rows;
  return columns;
}

struct Tile {
  unsigned parts;
  std::vector<std::int32_t> columns;
};

/// Tiles of each class, in its order.
std::map<unsigned, std::deque<Tile>> tiles_by_class(const std::map<std::int32_t, unsigned>& columns) {
  std::map<unsigned, std::deque<Tile>> classes;
  for (const auto& [column, parts] : columns) {
    std::deque<Tile>& tiles = classes[parts];
    if (tiles.empty() || std::ssize(tiles.back().columns) == tile_keys()) tiles.push_back({parts, {}});
    tiles.back().columns.push_back(column);
  }
  return classes;
}

/// What is placed together: two tiles that have all parts between them, or one.
struct Unit {
  double at;
  std::vector<Tile> tiles;
};

void append_units(std::vector<Unit>& units, std::deque<Tile>& first, std::deque<Tile>* second) {
  const std::size_t count = second ? std::min(first.size(), second->size()) : first.size();
  for (std::size_t i = 0; i < count; ++i) {
    Unit unit{(2.0 * static_cast<double>(i) + 1) / static_cast<double>(count), {std::move(first.front())}};
    first.pop_front();
    if (second) {
      unit.tiles.push_back(std::move(second->front()));
      second->pop_front();
    }
    units.push_back(std::move(unit));
  }
}

/// A block's tiles, in their order.
std::vector<Tile> ordered_tiles(const std::map<std::int32_t, unsigned>& columns, int parts) {
  std::map<unsigned, std::deque<Tile>> classes = tiles_by_class(columns);
  std::vector<Unit> units;
  const unsigned all = (1U << parts) - 1;
  for (unsigned one = 1; one <= all; ++one) {
    if (one < (all ^ one)) append_units(units, classes[one], &classes[all ^ one]);
    append_units(units, classes[one], nullptr);
  }
  std::stable_sort(units.begin(), units.end(), [](const Unit& a, const Unit& b) { return a.at < b.at; });
  std::vector<Tile> tiles;
  for (Unit& unit : units) std::move(unit.tiles.begin(), unit.tiles.end(), std::back_inserter(tiles));
  return tiles;
}

/// Appends a block's tiles, but for `taken`.
void append(KeyTileForm& form, const Csr& mask, std::int64_t first, std::int64_t end, int block_queries,
            const std::vector<Tile>& tiles) {
  std::map<std::int32_t, std::int64_t> places;
  for (const Tile& tile : tiles) {
    for (const std::int32_t column : tile.columns) {
      places[column] = std::ssize(form.keys);
      form.keys.push_back(column);
    }
    form.keys.resize(static_cast<std::size_t>(round_up(std::ssize(form.keys), tile_keys())), -1);
  }
  const std::int64_t count = std::ssize(form.keys) / tile_keys();
  form.first_tiles.push_back(static_cast<std::int32_t>(count));
  form.bits.resize(static_cast<std::size_t>(count * tile_words(block_queries)));
  form.starts.resize(static_cast<std::size_t>(count * block_queries), -1);
  for (std::int64_t row = first; row < end; ++row)
    for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)];
         i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
      const std::int64_t place = places.at(mask.column_indices[static_cast<std::size_t>(i)]);
      const std::int64_t tile = place / tile_keys();
      note(form.bits.data() + tile * tile_words(block_queries), row - first, place % tile_keys());
      std::int32_t& start = form.starts[static_cast<std::size_t>(tile * block_queries + row - first)];
      if (start < 0) start = static_cast<std::int32_t>(i);
    }
}

/// [parts, words]
std::vector<std::uint32_t> taken_bits(const std::vector<unsigned>& parts_of_tiles, int parts) {
  const std::int64_t words = taken_words(std::ssize(parts_of_tiles));
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(parts * words));
  for (std::int64_t tile = 0; tile < std::ssize(parts_of_tiles); ++tile)
    for (int part = 0; part < parts; ++part)
      if ((parts_of_tiles[static_cast<std::size_t>(tile)] >> part & 1) != 0)
        bits[static_cast<std::size_t>(part * words + tile / 32)] |= 1U << tile % 32;
  return bits;
}

}  // namespace

KeyTileForm key_tiles(const Csr& mask, int block_queries, int parts) {
  KeyTileForm form;
  std::vector<unsigned> parts_of_tiles;
  for (std::int64_t first = 0; first < mask.rows; first += block_queries) {
    const std::int64_t end = std::min(mask.rows, first + block_queries);
    const std::vector<Tile> tiles = ordered_tiles(named_columns(mask, first, end, block_queries / parts), parts);
    append(form, mask, first, end, block_queries, tiles);
    for (const Tile& tile : tiles) parts_of_tiles.push_back(tile.parts);
  }
  if (parts > 1) form.taken = taken_bits(parts_of_tiles, parts);
  form.order.resize(form.first_tiles.size() - 1);
  std::iota(form.order.begin(), form.order.end(), 0);
  const auto count_of = [&](std::int32_t block) {
    const auto at = static_cast<std::size_t>(block);
    return form.first_tiles[at + 1] - form.first_tiles[at];
  };
  std::stable_sort(form.order.begin(), form.order.end(),
                   [&](std::int32_t a, std::int32_t b) { return count_of(a) > count_of(b); });
  return form;
}

}  // namespace vostok::sparse
