// A tile of B on its way to shared memory, k block after k block: 64 rows of B by the tile's columns, in lines as B has them.
// What lies past B is zero there, and nothing past B is read.
#pragma once

#include "abi/unpack_mma.h"
#include "parts/async_copy.h"
#include "parts/loads.h"
#include "spmm/unpack_shared.h"
#include "spmm/unpack_tile.h"

namespace vostok {

/// 16 bytes, the first `valid` of them from memory, the others zero. `alignment` divides `from`; where it is 2, the bytes are
/// there at once.
template <int alignment>
__device__ inline void stage_chunk(unsigned char* to, const unsigned char* from, int valid) {
  if constexpr (alignment >= 4) {
    constexpr int piece = alignment < 16 ? alignment : 16;
#pragma unroll
    for (int i = 0; i < 16; i += piece) {
      const int left = valid - i;
      copy_async<piece>(to + i, from + i, left < 0 ? 0 : left < piece ? left : piece);
    }
  } else {
    Vector<unsigned short, 8> elements{};
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (2 * i < valid) elements.at[i] = load_global(reinterpret_cast<const unsigned short*>(from) + i);
    *reinterpret_cast<Vector<unsigned short, 8>*>(to) = elements;
  }
}

/// B as the caller has it. A thread copies the same chunk of every so many lines.
template <class F>
class CallerDense {
  static constexpr auto traits = F::traits;
  static constexpr auto config = F::config;
  static constexpr bool along_k = traits.dense_layout == Layout::column_major;
  static constexpr int element_bytes = size_of(traits.element);
  using Lines = typename detail::Either<TermLines<F>, WideLines<tile_columns(config), traits.dense_layout>, splits_dense(config)>::Type;
  static constexpr int lines = along_k ? tile_columns(config) : packed_strip_columns;
  static constexpr int line_step = threads(config) / Lines::chunks;

 public:
  template <class Args>
  __device__ CallerDense(const Args& args, const UnpackTile<F>& tile)
      : line_(threadIdx.x / Lines::chunks), chunk_(threadIdx.x % Lines::chunks), line_bytes_(args.dense_leading * element_bytes) {
    const long long column = tile.first_column();
    const long long k = static_cast<long long>(tile.first_block(args)) * packed_strip_columns;
    const long long first = tile.product * args.dense_stride + (along_k ? column * args.dense_leading + k : k * args.dense_leading + column);
    from_ = static_cast<const unsigned char*>(args.dense) + first * element_bytes + line_ * line_bytes_ + chunk_ * 16;
    k_left_ = args.k - k;
    columns_left_ = args.n - column;
  }

  /// Copies the next k block.
  __device__ void issue(unsigned char* stage, float*) {
    const long long lines_left = along_k ? columns_left_ : k_left_;
    const long long bytes_left = (along_k ? k_left_ : columns_left_) * element_bytes - chunk_ * 16;
    const int valid = bytes_left < 0 ? 0 : bytes_left < 16 ? static_cast<int>(bytes_left) : 16;
#pragma unroll
    for (int i = 0; i < (lines + line_step - 1) / line_step; ++i) {
      const unsigned line = line_ + i * line_step;
      if (lines % line_step != 0 && line >= lines) break;
      stage_chunk<traits.dense_alignment>(stage + Lines::place(line, chunk_), from_ + i * (line_step * line_bytes_), line < lines_left ? valid : 0);
    }
    from_ += along_k ? packed_strip_columns * element_bytes : packed_strip_columns * line_bytes_;
    k_left_ -= packed_strip_columns;
  }

 private:
  unsigned line_;
  unsigned chunk_;
  long long line_bytes_;
  const unsigned char* from_;
  long long k_left_;
  long long columns_left_;
};

/// B as split tiles (templates/spmm/split_dense.h): for 64 columns and a k block, 64 lines of 128 bytes of the high terms, then of
/// the low ones, chunks already in the order of their swizzle; and a scale for each column and k block.
template <class F>
class PreparedDense {
  static constexpr auto config = F::config;
  static constexpr int prepared_columns = 64;
  static constexpr int prepared_term_bytes = packed_strip_columns * prepared_columns * 2;
  static constexpr int prepared_bytes = 2 * prepared_term_bytes;
  static constexpr int chunks = tile_columns(config) * 2 / 16;
  static constexpr int line_chunks = prepared_columns * 2 / 16;
  using Lines = LinesAlongColumns<tile_columns(config)>;

 public:
  __device__ PreparedDense(const UnpackMmaArgs& args, const UnpackTile<F>& tile)
      : k_blocks_(args.strips.k_blocks), block_(tile.first_block(args)), first_chunk_(static_cast<unsigned>(tile.first_column() / 8)) {
    from_ = static_cast<const unsigned char*>(args.dense) + tile.product * args.dense_stride;
    scale_step_ = args.column_scale_stride;
    scales_ = args.column_scales + (static_cast<long long>(tile.product) * k_blocks_ + block_) * scale_step_ + tile.first_column();
  }

  __device__ void issue(unsigned char* stage, float* column_scales) {
    const SharedAddress to = shared_address(stage);
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < 2 * packed_strip_columns * chunks; i += threads(config)) {
      const unsigned chunk = i % chunks;
      const unsigned line = i / chunks % packed_strip_columns;
      const unsigned term = i / chunks / packed_strip_columns;
      const unsigned wanted = first_chunk_ + chunk;
      const unsigned char* const tile = from_ + (static_cast<long long>(wanted / line_chunks) * k_blocks_ + block_) * prepared_bytes;
      const unsigned place = line * (16 * line_chunks) + 16 * swizzled<line_chunks>(wanted % line_chunks, line);
      // A tile may be wider than what was prepared.
      copy_async<16>(to + (term * dense_term_bytes(config) + Lines::place(line, chunk)), tile + term * prepared_term_bytes + place,
                     8 * wanted < scale_step_ ? 16 : 0);
    }
    if constexpr (packed_scales_rows(config.mode)) {
      const unsigned column = 4 * threadIdx.x;
      if (column < tile_columns(config)) copy_async<16>(column_scales + column, scales_ + column, 8 * first_chunk_ + column < scale_step_ ? 16 : 0);
      scales_ += scale_step_;
    }
    ++block_;
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
using DenseStages = typename detail::Either<CallerDense<F>, PreparedDense<F>, F::config.prepare_dense>::Type;

}  // namespace vostok
