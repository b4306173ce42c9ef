// B cut into tiles as tensor-core kernels read them from shared memory, what host and kernel share.
//
// A tile is 64 k (one k block of packed_strips.h) by tile_columns columns. It is one or more planes of 64 lines, a line
// for each k, of 128 bytes; the 16-byte chunk c of line k lies at place c ^ (k % 8), the 128-byte swizzle of wgmma.
// Columns of a line are 16-bit:
// - tile_columns = 64: plane 0 has every element, or its high part; where the mode splits elements, plane 1 has their
// low parts
// - tile_columns = 32: one plane, the 32 high parts of a line before its 32 low parts
// The tile of column tile t and k block b has number t * k_blocks + b. k past the matrix and columns past n are zeros.
// A value v becomes hi = rounded(s v) and lo = rounded(s v - hi), 0 where hi is not finite. Where the mode scales, s is
// a power of two for each column and scale_blocks k blocks from a multiple of scale_blocks on that brings the largest
// finite |s v| of their elements into [2^13, 2^14); else it is 1. 1 / s, as column_loss.h marks it, lies at
// column_scales[b * (column tiles * tile_columns) + column], for every k block b.
#pragma once

#include "abi/column_loss.h"
#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"

namespace vostok {

/// What the problem fixes.
struct SplitDenseTraits {
  Dtype element = Dtype::f32;
  PackedMode mode = PackedMode::f16x3;
  Layout layout = Layout::row_major;
  int alignment = 16;  ///< bytes that divide every line start of B
  bool batched = false;
  bool marked = false;  ///< inverse scales tell what columns lose (abi/column_loss.h)
};

struct SplitDenseConfig {
  int tile_columns = 64;
  int scale_blocks = 1;    ///< k blocks whose columns have one scale, and of which a block of threads makes the tiles
  int block_columns = 64;  ///< of a tile, that a block makes: all, or half of them, where lines of B are rows
  int threads = 256;
};

struct SplitDenseArgs {
  const void* dense;     ///< B, [k, n]
  unsigned char* tiles;  ///< of all products, one after the other
  float* column_scales;  ///< the same; not written where the mode has none
  long long n;
  long long k;
  long long leading;  ///< elements between two rows of B (columns, where it is column-major)
  long long stride;   ///< elements between two B of the batch
  unsigned column_tiles;
  unsigned k_blocks;
  unsigned batch;
};

template <FieldsOf<SplitDenseTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("element", traits.element);
  visit("mode", traits.mode);
  visit("layout", traits.layout);
  visit("alignment", traits.alignment);
  visit("batched", traits.batched);
  visit("marked", traits.marked);
}

template <FieldsOf<SplitDenseConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("tile_columns", config.tile_columns);
  visit("scale_blocks", config.scale_blocks);
  visit("block_columns", config.block_columns);
  visit("threads", config.threads);
}

consteval int split_line_bytes() { return 128; }
consteval int split_plane_bytes() { return packed_strip_columns() * split_line_bytes(); }

/// Bytes of one tile.
constexpr int split_tile_bytes(PackedMode mode, int tile_columns) {
  return split_plane_bytes() * tile_columns * packed_pair_words(mode) / 64;
}

/// Where a tile's low parts begin.
constexpr int split_low_part(int tile_columns) { return tile_columns == 64 ? split_plane_bytes() : 2 * tile_columns; }

/// Where an element's high part lies in its tile.
constexpr int split_offset(int k, int column) {
  return k * split_line_bytes() + ((column / 8) ^ (k % 8)) * 16 + column % 8 * 2;
}

/// The same of its low part.
constexpr int split_low_offset(int tile_columns, int k, int column) {
  return tile_columns == 64 ? split_plane_bytes() + split_offset(k, column) : split_offset(k, column + 32);
}

/// Blocks that make a tile side by side.
constexpr int blocks_across(const SplitDenseConfig& config) { return config.tile_columns / config.block_columns; }

/// Dynamic shared memory of a block: the columns' maxima, how many elements lose something, and a column-major B's
/// tiles on their way to lines of columns.
constexpr int shared_bytes(const SplitDenseTraits& traits, const SplitDenseConfig& config) {
  const int image = traits.layout == Layout::column_major
                        ? config.scale_blocks * split_tile_bytes(traits.mode, config.tile_columns)
                        : 16;
  return image + 4 * config.block_columns * (traits.marked ? 2 : 1);
}

}  // namespace vostok
