// Where lines of attention's gradient lie in shared memory as wgmma's descriptors want them (parts/wgmma.h): slabs of
// 64 lines, 64 elements of each, whose chunks are exchanged.
#pragma once

#include "abi/fused_backward_wgmma.h"

namespace vostok {

template <class F>
struct BackwardSlabs {
  static constexpr auto traits = F::traits;
  static constexpr int bytes = slab_bytes(tile_keys());
  /// Of a part of a tile's lines, and of own lines: terms have two.
  static constexpr int key_part = multiplied_width(traits.key_size) / 64 * bytes,
                       value_part = multiplied_width(traits.value_size) / 64 * bytes;
  static constexpr int own_key_part = slabs_of(traits.key_size) * bytes,
                       own_value_part = slabs_of(traits.value_size) * bytes;
  static constexpr int values = line_parts(traits) * key_part, own_values = line_parts(traits) * own_key_part;

  static __device__ constexpr unsigned key(int line, int chunk) {
    return in_slabs<traits.key_size>(key_part, line, chunk);
  }
  static __device__ constexpr unsigned value(int line, int chunk) {
    return values + in_slabs<traits.value_size>(value_part, line, chunk);
  }
  static __device__ unsigned own_key(int line, int chunk) {
    return of_group(line) + in_slabs<traits.key_size>(own_key_part, line % group_queries(), chunk);
  }
  static __device__ unsigned own_value(int line, int chunk) {
    return of_group(line) + own_values + in_slabs<traits.value_size>(own_value_part, line % group_queries(), chunk);
  }

 private:
  static __device__ unsigned of_group(int line) { return line / group_queries() * group_own_bytes(traits); }

  /// Chunks of a line's first part come first.
  template <int size>
  static __device__ constexpr unsigned in_slabs(int part_bytes, int line, int chunk) {
    constexpr int chunks = size / 8;
    const int part = line_parts(traits) == 1 ? 0 : chunk / chunks, own = chunk - part * chunks;
    return part * part_bytes + own / 8 * bytes + line * 128 + 16 * (own % 8 ^ line % 8);
  }
};

}  // namespace vostok
