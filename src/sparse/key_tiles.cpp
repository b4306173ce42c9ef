#include "sparse/key_tiles.hpp"

#include <algorithm>
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

/// The columns that rows [first, end) name, ascending.
std::vector<std::int32_t> named_columns(const Csr& mask, std::int64_t first, std::int64_t end) {
  std::vector<std::int32_t> columns(mask.column_indices.begin() + mask.row_offsets[static_cast<std::size_t>(first)],
                                    mask.column_indices.begin() + mask.row_offsets[static_cast<std::size_t>(end)]);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

}  // namespace

KeyTileForm key_tiles(const Csr& mask, int block_queries) {
  KeyTileForm form;
  for (std::int64_t first = 0; first < mask.rows; first += block_queries) {
    const std::int64_t end = std::min(mask.rows, first + block_queries);
    const std::vector<std::int32_t> columns = named_columns(mask, first, end);
    const std::int64_t tiles = ceil_div(std::ssize(columns), tile_keys());
    const std::size_t bits_before = form.bits.size();
    form.bits.resize(bits_before + static_cast<std::size_t>(tiles * tile_words(block_queries)));
    const std::size_t starts_before = form.starts.size();
    form.starts.resize(starts_before + static_cast<std::size_t>(tiles * block_queries), -1);
    for (std::int64_t row = first; row < end; ++row)
      for (std::int64_t i = mask.row_offsets[static_cast<std::size_t>(row)];
           i < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++i) {
        const auto found =
            std::lower_bound(columns.begin(), columns.end(), mask.column_indices[static_cast<std::size_t>(i)]);
        const std::int64_t number = found - columns.begin();
        note(form.bits.data() + bits_before + number / tile_keys() * tile_words(block_queries), row - first,
             number % tile_keys());
        std::int32_t& start =
            form.starts[starts_before + static_cast<std::size_t>(number / tile_keys() * block_queries + row - first)];
        if (start < 0) start = static_cast<std::int32_t>(i);
      }
    form.keys.insert(form.keys.end(), columns.begin(), columns.end());
    form.keys.resize(static_cast<std::size_t>((form.first_tiles.back() + tiles) * tile_keys()), -1);
    form.first_tiles.push_back(form.first_tiles.back() + static_cast<std::int32_t>(tiles));
  }
  form.order.resize(form.first_tiles.size() - 1);
  std::iota(form.order.begin(), form.order.end(), 0);
  const auto tiles_of = [&](std::int32_t block) {
    const auto at = static_cast<std::size_t>(block);
    return form.first_tiles[at + 1] - form.first_tiles[at];
  };
  std::stable_sort(form.order.begin(), form.order.end(),
                   [&](std::int32_t a, std::int32_t b) { return tiles_of(a) > tiles_of(b); });
  return form;
}

}  // namespace vostok::sparse
