// A tile of B on its way to shared memory, k block after k block: 64 rows of B by the tile's columns, in lines as B has
// them. What lies past B is zero there, and nothing past B is read.
#pragma once

#include "abi/unpack_mma.h"
#include "parts/async_copy.h"
#include "parts/loads.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_team.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// 16 bytes, the first `valid` elements of them from memory, the others zero. `alignment` divides `from` and the bytes
/// of a line; where it is 2, the elements are there at once.
template <int alignment, int element_bytes>
__device__ inline void stage_chunk(SharedAddress to, const unsigned char* from, int valid) {
  if constexpr (alignment >= 16) {
    copy_async_if(valid > 0, to, from);
  } else if constexpr (alignment >= 4) {
#pragma unroll
    for (int i = 0; i < 16; i += alignment)
      copy_async<alignment>(to + i, from + i, i / element_bytes < valid ? alignment : 0);
  } else {
    unsigned elements[8] = {};
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < valid) elements[i] = load_global(reinterpret_cast<const unsigned short*>(from) + i);
#pragma unroll
    for (int i = 0; i < 4; ++i) store_word(to + 4 * i, elements[2 * i] | elements[2 * i + 1] << 16);
  }
}

/// B as the caller has it. A thread copies the same chunk of every so many lines.
template <class F>
class CallerDense {
  using Team = UnpackTeam<F>;
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr bool along_k = traits.dense_layout == Layout::column_major;
  static constexpr int element_bytes = size_of(traits.element);
  using Lines = Either<TermLines<F>, WideLines<tile_columns(config), traits.dense_layout>, splits_dense(config)>;
  static constexpr int lines = along_k ? tile_columns(config) : packed_strip_columns();
  static constexpr int line_step = Team::size / Lines::chunks;

 public:
  template <class Args>
  __device__ CallerDense(const Args& args, const UnpackTile<F>& tile)
      : line_(Team::thread() / Lines::chunks),
        chunk_(Team::thread() % Lines::chunks),
        line_bytes_(args.dense_leading * element_bytes) {
    const long long column = tile.first_column();
    const long long k = static_cast<long long>(Team::first_block(tile, args)) * packed_strip_columns();
    const long long first = tile.product * args.dense_stride +
                            (along_k ? column * args.dense_leading + k : k * args.dense_leading + column);
    from_ = static_cast<const unsigned char*>(args.dense) + first * element_bytes + line_ * line_bytes_ + chunk_ * 16;
    const long long columns = args.n - column;
    columns_left_ = columns < tile_columns(config) ? static_cast<int>(columns) : tile_columns(config);
    k_left_ = along_k || first_element() < columns_left_ ? static_cast<int>(args.k - k)
                                                         : 0;  // a chunk past the last column has no lines
  }

  /// Copies the team's next k block.
  __device__ void issue(SharedAddress stage, float*) {
    const int lines_left = along_k ? columns_left_ : k_left_;
    const int valid = whole_chunks && !along_k ? chunk_elements : (along_k ? k_left_ : columns_left_) - first_element();
#pragma unroll
    for (int i = 0; i < (lines + line_step - 1) / line_step; ++i) {
      const int line = line_ + i * line_step;
      if (lines % line_step != 0 && line >= lines) break;
      stage_chunk<traits.dense_alignment, element_bytes>(
          stage + Lines::place(line, chunk_), from_ + i * (line_step * line_bytes_), line < lines_left ? valid : 0);
    }
    constexpr int step = packed_strip_columns() * static_cast<int>(Team::count);
    from_ += along_k ? step * element_bytes : step * line_bytes_;
    k_left_ -= step;
  }

 private:
  static constexpr int chunk_elements = 16 / element_bytes;
  static constexpr bool whole_chunks = traits.dense_alignment >= 16;
  __device__ int first_element() const { return chunk_ * chunk_elements; }

  int line_;
  int chunk_;
  long long line_bytes_;
  const unsigned char* from_;
  int k_left_;  ///< fits: packed strips have columns of 31 bits
  int columns_left_;
};

/// B as split tiles (templates/spmm/split_dense.h): for 64 columns and a k block, 64 lines of 128 bytes of the high
/// terms, then of the low ones if there are any, chunks already in the order of their swizzle; and a scale for each
/// column and k block.
template <class F>
class PreparedDense {
  using Team = UnpackTeam<F>;
  static constexpr auto config = F::config;
  static constexpr int prepared_columns = 64;
  static constexpr int prepared_term_bytes = packed_strip_columns() * prepared_columns * 2;
  static constexpr int prepared_bytes = terms(config) * prepared_term_bytes;
  static constexpr int chunks = tile_columns(config) * 2 / 16;
  static constexpr int line_chunks = prepared_columns * 2 / 16;
  using Lines = LinesAlongColumns<tile_columns(config)>;

 public:
  __device__ PreparedDense(const UnpackMmaArgs& args, const UnpackTile<F>& tile)
      : k_blocks_(args.strips.k_blocks),
        block_(Team::first_block(tile, args)),
        first_chunk_(static_cast<unsigned>(tile.first_column() / 8)) {
    from_ = static_cast<const unsigned char*>(args.dense) + tile.product * args.dense_stride;
    scale_step_ = args.column_scale_stride;
    scales_ = args.column_scales + (static_cast<long long>(tile.product) * k_blocks_ + block_) * scale_step_ +
              tile.first_column();
  }

  __device__ void issue(SharedAddress stage, float* column_scales) {
#pragma unroll 4
    for (unsigned i = Team::thread(); i < terms(config) * packed_strip_columns() * chunks; i += Team::size) {
      const unsigned chunk = i % chunks;
      const unsigned line = i / chunks % packed_strip_columns();
      const unsigned term = i / chunks / packed_strip_columns();
      const unsigned wanted = first_chunk_ + chunk;
      const unsigned char* const tile =
          from_ + (static_cast<long long>(wanted / line_chunks) * k_blocks_ + block_) * prepared_bytes;
      const unsigned place = line * (16 * line_chunks) + 16 * swizzled<line_chunks>(wanted % line_chunks, line);
      // A tile may be wider than what was prepared.
      copy_async<16>(stage + (term * dense_term_bytes(config) + Lines::place(line, chunk)),
                     tile + term * prepared_term_bytes + place, 8 * wanted < scale_step_ ? 16 : 0);
    }
    if constexpr (packed_scales_rows(config.mode)) {
      const unsigned column = 4 * Team::thread();
      if (column < tile_columns(config))
        copy_async<16>(column_scales + column, scales_ + column, 8 * first_chunk_ + column < scale_step_ ? 16 : 0);
      scales_ += Team::count * scale_step_;
    }
    block_ += Team::count;
  }

 private:
  const unsigned char* from_;
  const float* scales_;
  long long scale_step_;
  unsigned k_blocks_;
  unsigned block_;
  unsigned first_chunk_;
};

template <class F>
using DenseStages = Either<CallerDense<F>, PreparedDense<F>, F::config.prepare_dense>;

}  // namespace vostok
