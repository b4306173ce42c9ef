// dense_transpose, the out-of-place transposition of a batch of dense matrices: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"

namespace vostok {

struct DenseTransposeTraits {
  int element_bytes = 4;  ///< 2 or 4: elements are moved as bits
  bool chunks =
      false;  ///< elements of 2 bytes whose lines begin at multiples of 16 bytes on both sides: so many at once
};

struct DenseTransposeConfig {
  int tile = 32;      ///< rows and columns of a block's square tile: a multiple of 32
  int threads = 256;  ///< whole warps; each takes a row of the tile at a time
};

struct DenseTransposeArgs {
  const void* source;  ///< [rows, columns]
  void* destination;   ///< [columns, rows]
  long long rows;
  long long columns;
  long long source_leading;  ///< elements between rows
  long long destination_leading;
  long long source_stride;  ///< elements between two of a batch
  long long destination_stride;
  long long batch;
};

template <FieldsOf<DenseTransposeTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element_bytes", traits.element_bytes);
  visit("chunks", traits.chunks);
}

template <FieldsOf<DenseTransposeConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("tile", config.tile);
  visit("threads", config.threads);
}

/// Bytes between two rows of the tile in shared memory: an odd number of banks, so that columns are read without
/// conflicts.
constexpr int tile_row_bytes(const DenseTransposeTraits& traits, const DenseTransposeConfig& config) {
  return config.tile * traits.element_bytes + 4;
}

constexpr int shared_bytes(const DenseTransposeTraits& traits, const DenseTransposeConfig& config) {
  return config.tile * tile_row_bytes(traits, config);
}

}  // namespace vostok
