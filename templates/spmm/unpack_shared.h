// The shared memory of unpack_mma, and how a tile of B lies in it.
//
// B lies in lines of 16-byte chunks. A chunk's place in its line depends on the line, so that reading the same chunk of
// eight neighbouring lines, as ldmatrix does, touches every bank once.
#pragma once

#include "abi/either.h"
#include "abi/unpack_mma.h"
#include "parts/opaque.h"
#include "parts/ring_place.h"
#include "parts/shared.h"
#include "parts/shared_address.h"

namespace vostok {

/// The place of a chunk in a line of `chunks`, a power of two; `key` numbers the lines that are read together.
template <int chunks>
__device__ constexpr unsigned swizzled(unsigned chunk, unsigned key) {
  return chunk ^ (key & (chunks < 8 ? chunks - 1U : 7U));
}

/// A tile of 16-bit elements whose lines run along k: 64 of one column of B.
struct LinesAlongK {
  static constexpr int chunks = packed_strip_columns() * 2 / 16;
  static constexpr int line_bytes = 16 * chunks;
  static __device__ constexpr unsigned place(unsigned column, unsigned chunk) {
    return column * line_bytes + 16 * swizzled<chunks>(chunk, column);
  }
};

/// A tile of 16-bit elements whose lines run along the columns of B. Lines shorter than 128 bytes share the banks: as
/// many neighbours as fit have one key.
template <int columns>
struct LinesAlongColumns {
  static constexpr int chunks = columns * 2 / 16;
  static constexpr int line_bytes = 16 * chunks;
  static constexpr int lines_of_key = chunks < 8 ? 8 / chunks : 1;
  static __device__ constexpr unsigned place(unsigned k, unsigned chunk) {
    return k * line_bytes + 16 * swizzled<chunks>(chunk, k / lines_of_key);
  }
};

/// A tile of f32 on its way to being split (unpack_split.h), in lines as B has them. There, eight lanes read one chunk
/// of lines that are eight apart, or chunks of neighbouring columns.
template <int columns, Layout layout>
struct WideLines {
  static constexpr bool along_k = layout == Layout::column_major;
  static constexpr int chunks = (along_k ? packed_strip_columns() : columns) * 4 / 16;
  static constexpr int line_bytes = 16 * chunks;
  static __device__ constexpr unsigned place(unsigned line, unsigned chunk) {
    return line * line_bytes + 16 * swizzled<chunks>(chunk, along_k ? line : line / 8);
  }
};

/// How the terms of B lie that are multiplied.
template <class F>
using TermLines = Either<LinesAlongColumns<tile_columns(F::config)>, LinesAlongK, stages_columns(F::traits, F::config)>;

/// The parts of a team's shared memory. Tiles of B come first: they start at multiples of 128 bytes.
template <class F>
class UnpackShared {
  static constexpr auto config = F::config;
  static constexpr bool splits = splits_dense(config);
  static constexpr int dense_bytes = dense_stage_bytes(config);
  static constexpr int buffer_bytes = split_buffer_bytes(config);
  static constexpr int strip_bytes = packed_unit_bytes() * strip_stage_units(config);
  static constexpr int start_bytes = 4 * strip_start_words(config);
  static constexpr int split_begin = config.stages * dense_bytes;
  static constexpr int strips_begin = split_begin + (splits ? split_buffers() * buffer_bytes : 0);
  static constexpr int scales_begin = strips_begin + config.stages * strip_bytes;
  static constexpr int starts_begin =
      scales_begin + (splits ? split_buffers() : config.stages) * column_scale_bytes(config);
  static constexpr int places_begin = starts_begin + config.stages * start_bytes;
  static constexpr int end = places_begin + strip_places(config) * start_bytes;
  static_assert(dense_bytes % 128 == 0, "tiles of B are whole lines of 128 bytes");
  static constexpr int bytes = team_shared_bytes(F::config);
  static_assert(end <= bytes, "shared_bytes differs from the layout");

 public:
  struct Teams {
    alignas(128) unsigned char team[teams(config)][bytes];
  };
  struct TeamsAndBarriers : Teams {
    unsigned long long barriers[strip_barriers(config)];
  };
  /// As a kernel has it: a part for each team and, where strips come in bulk, the barriers of all.
  using Block = Either<Teams, TeamsAndBarriers, copies_in_bulk(config)>;

  __device__ explicit UnpackShared(unsigned team)
      : bytes_(dynamic_shared<Block>().team[team]), address_(shared_address(bytes_)), barriers_(barriers_of(team)) {
    make_opaque(address_);
  }

  __device__ SharedAddress dense(unsigned stage) const { return address_ + stage * dense_bytes; }
  __device__ SharedAddress strips(unsigned stage) const { return address_ + (strips_begin + stage * strip_bytes); }
  /// Where the strips of a stage start, in units of 16 bytes, and where the last one ends: words.
  __device__ SharedAddress starts(unsigned stage) const { return address_ + (starts_begin + stage * start_bytes); }
  /// Where the strips of strip_places coming k blocks lie in the packed data, each as in starts().
  __device__ SharedAddress places() const { return address_ + places_begin; }
  /// Where the strips of a stage arrive, if they come in bulk.
  __device__ SharedAddress barrier(unsigned stage) const { return barriers_ + stage * 8; }
  /// The terms of a split B, and what they are split from.
  __device__ SharedAddress split(unsigned buffer) const { return address_ + (split_begin + buffer * buffer_bytes); }
  __device__ unsigned char* split_terms(unsigned buffer) const { return bytes_ + split_begin + buffer * buffer_bytes; }
  __device__ const unsigned char* unsplit(unsigned stage) const { return bytes_ + stage * dense_bytes; }
  /// 1 / scale of each column, of a stage or of a split buffer.
  __device__ float* column_scales(unsigned index) const {
    return reinterpret_cast<float*>(bytes_ + scales_begin + index * column_scale_bytes(config));
  }

 private:
  static __device__ SharedAddress barriers_of(unsigned team) {
    if constexpr (copies_in_bulk(config))
      return shared_address(dynamic_shared<Block>().barriers + team * config.stages);
    else return {};
  }

  unsigned char* bytes_;
  SharedAddress address_;   ///< of the same
  SharedAddress barriers_;  ///< of the team
};

}  // namespace vostok
