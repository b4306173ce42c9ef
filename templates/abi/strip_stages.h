// The shared memory of a ring of stages that hold B and strips, and of what tells where strips lie (spmm/unpack_strips.h).
#pragma once

#include "abi/packed_strips.h"

namespace vostok {

/// Where each strip of a tile starts, and where the last one ends: words, rounded up to 16 bytes.
template <class Config>
constexpr int strip_start_words(const Config& config) {
  return (tile_strips(config) + 1 + 3) / 4 * 4;
}

/// K blocks whose places in the packed data are known before their turn comes: those of the first stages are taken, and as many asked for,
/// before the first barrier.
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

}  // namespace vostok
