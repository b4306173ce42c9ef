// The shared memory of a ring of stages that hold B and strips, and of what tells where strips lie
// (spmm/unpack_strips.h).
#pragma once

#include "abi/enums.h"
#include "abi/packed_strips.h"
#include "abi/rules.h"

namespace vostok {

/// Where each strip of a tile starts, and where the last one ends: words, rounded up to 16 bytes.
template <class Config>
constexpr int strip_start_words(const Config& config) {
  return (tile_strips(config) + 1 + 3) / 4 * 4;
}

/// K blocks whose places in the packed data are known before their turn comes: those of the first stages are taken, and
/// as many asked for, before the first barrier.
template <class Config>
constexpr int strip_places(const Config& config) {
  return 2 * (config.stages - 1);
}

/// Stages, with what tells where the strips of each lie, and of those k blocks.
template <class Config>
constexpr int strip_ring_bytes(const Config& config) {
  const int stage = dense_stage_bytes(config) + packed_unit_bytes() * strip_stage_units(config);
  return config.stages * stage + (config.stages + strip_places(config)) * 4 * strip_start_words(config);
}

/// Chunks of 16 bytes of a line of B, as threads copy it from where it lies.
template <class Traits, class Config>
constexpr int dense_line_chunks(const Traits& traits, const Config& config) {
  return (traits.dense_layout == Layout::column_major ? packed_strip_columns() : tile_columns(config)) *
         size_of(traits.element) / 16;
}

/// Rules of a tile whose strips are dealt to row_warps, and its columns to column_warps.
template <class Config>
constexpr void warp_tile_rules(RuleCheck& rule, const Config& c) {
  rule("row_warps is a power of two of at most 16, and column_warps one of at most 32",
       [&] { return is_power_of_two(c.row_warps, 1, 16) && is_power_of_two(c.column_warps, 1, 32); });
  rule("a tile has 1, 2, 4, 8 or 16 strips",
       [&] { return is_power_of_two(c.warp_strips, 1, 16) && tile_strips(c) <= packed_row_strip_multiple(); });
  rule("warp_columns is a power of two from 8 to 128, and a tile has at most 256",
       [&] { return is_power_of_two(c.warp_columns, 8, 128) && tile_columns(c) <= 256; });
  rule("raster_rows is 1 to 65536, k_split 1 to 1024 and min_blocks 1 to 32",
       [&] { return within(c.raster_rows, 1, 65536) && within(c.k_split, 1, 1024) && within(c.min_blocks, 1, 32); });
}

}  // namespace vostok
