// The pairs of a packed strip, as its headers name them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include <abi/packed_fours.h>

#include "sparse/packed_strips.hpp"

namespace vostok::sparse {

/// The columns in the strip that the two halves of a pair stand for, from the headers alone.
inline std::array<int, 2> columns_of(PackedGrain grain, std::span<const std::uint32_t> headers, int lane, int bit) {
  if (grain == PackedGrain::pair) return {packed_column(lane, bit), packed_column(lane, bit) + 1};
  const std::uint32_t metadata =
      headers[static_cast<std::size_t>(four_metadata_lane(lane, bit)) * 2 + 1] >> four_metadata_shift(lane, bit);
  return {four_pair_column(lane, bit, metadata, 0), four_pair_column(lane, bit, metadata, 1)};
}

/// Those of a pair of a whole strip, and its row there.
struct WholePair {
  int row;
  int column;  ///< of the first half; the other's is the next
};

constexpr WholePair whole_pair(int pair) {
  const int row = 2 * pair / packed_strip_columns(), place = 2 * pair % packed_strip_columns();
  return {row, (place / 8 ^ row % 8) * 8 + place % 8};
}

/// visit(row, the two columns, number of the pair, its place in the strip) for every pair of a strip whose headers are
/// given.
template <class Visit>
void for_each_pair(const PackedForm& form, std::int64_t strip, std::span<const std::uint32_t> headers,
                   const Visit& visit) {
  const std::int64_t first_row = strip % form.row_strips * packed_strip_rows();
  const std::int64_t first_column = strip / form.row_strips * packed_strip_columns();
  if (form.grain == PackedGrain::whole) {
    for (int pair = 0; pair < packed_most(form.grain); ++pair) {
      const auto [row, column] = whole_pair(pair);
      if (first_row + row >= form.rows) continue;
      visit(first_row + row, std::array<std::int64_t, 2>{first_column + column, first_column + column + 1},
            static_cast<std::size_t>(pair));
    }
    return;
  }
  for (int lane = 0; lane < packed_lanes(); ++lane) {
    const unsigned header =
        headers[static_cast<std::size_t>(lane) * static_cast<std::size_t>(packed_lane_words(form.grain))];
    std::int64_t pair = packed_start(header);
    for (unsigned mask = packed_mask(header); mask != 0; mask &= mask - 1) {
      const int bit = std::countr_zero(mask);
      std::array<std::int64_t, 2> columns;
      for (const std::size_t half : {0, 1})
        columns[half] = first_column + columns_of(form.grain, headers, lane, bit)[half];
      visit(first_row + packed_row(lane, bit), columns, static_cast<std::size_t>(pair++));
    }
  }
}

/// A strip's headers, of all words from its first.
inline std::span<const std::uint32_t> headers_of(const PackedForm& form, std::span<const std::uint32_t> words,
                                                 std::size_t first) {
  return words.subspan(first, static_cast<std::size_t>(packed_header_words(form.grain)));
}

}  // namespace vostok::sparse
