// f32 elements of B split into 16-bit terms by the blocks of unpack_wgmma that multiply them: what few blocks read
// is not worth a launch.
//
// A copying warp takes units of 32 columns of a k block, one after the other, or of 16 where eight warps share a narrow
// tile or the copy engine brings them to shared memory (spmm/split_copies.h). An element keeps its line: terms lie as
// split_dense leaves them where B is row-major, and in lines of k where it is column-major. Where the mode scales, the
// terms are those of s v, where s is a power of two for each column and k block that brings the largest finite |s v|
// into [2^13, 2^14).
#pragma once

#include "abi/column_loss.h"
#include "parts/loads.h"
#include "parts/mbarrier.h"
#include "parts/opaque.h"
#include "parts/ordered_loads.h"
#include "parts/shared_address.h"
#include "parts/split_number.h"
#include "parts/warp.h"
#include "spmm/unpack_wgmma_shared.h"

namespace vostok {

/// Which elements of a unit a lane has: pieces of four neighbours in a line. Eight lanes load 128 bytes of a line, or
/// four 64; the lines of the four or eight groups of lanes are those whose terms, stored together, lie in different
/// banks.
template <class F>
struct UnitShare {
  static constexpr bool row_major = F::traits.dense_layout == Layout::row_major;
  static constexpr int columns = split_unit_columns(F::config);
  static constexpr int lines = row_major ? packed_strip_columns() : columns;
  static constexpr int length = row_major ? columns : packed_strip_columns();
  static constexpr bool narrow = row_major && columns == 16;  ///< lines of 64 bytes
  static constexpr int line_lanes = narrow ? 4 : 8;           ///< of a line
  static constexpr int parts = length / (4 * line_lanes);     ///< pieces of a lane in one line
  static constexpr int own_lines = lines / (32 / line_lanes);

  /// The first piece's line and place in it. Own line i has 8 * (i / 2) + 2 * (i % 2) lines before it, part h 32 * h
  /// elements; in narrow units it has 8 * i. There half a warp stores to lines 0, 3, 4, 7 or 1, 2, 5, 6, whose terms
  /// lie in different banks, and eight lanes load from an even and an odd one, which do so in the copy engine's rooms.
  static __device__ unsigned first_line() { return first_line_of(threadIdx.x); }
  static __device__ unsigned first_place() { return first_place_of(threadIdx.x); }
  static constexpr unsigned first_line_of(unsigned thread) {
    if constexpr (!narrow) return thread / 8 % 2 * 4 + thread / 16 % 2;
    const unsigned group = thread / 4 % 8;
    return 2 * (group % 4) + (group % 2 ^ group / 4);
  }
  static constexpr unsigned first_place_of(unsigned thread) { return thread % line_lanes * 4; }
  static constexpr int lines_before(int own_line) {
    return narrow ? own_line * 8 : own_line / 2 * 8 + own_line % 2 * 2;
  }

  /// Whether lanes that store eight bytes of terms at once, half a warp, do so to 32 different banks
  /// (first_term_place).
  static consteval bool stores_spread() {
    for (unsigned half = 0; half < 2; ++half) {
      unsigned found = 0;
      for (unsigned lane = 16 * half; lane < 16 * half + 16; ++lane) {
        const unsigned place = first_place_of(lane);
        found |= 3U << ((place / 8 ^ first_line_of(lane) % 8) * 4 + place % 8 / 2);
      }
      if (found != 0xffffffffU) return false;
    }
    return true;
  }
};

/// A lane's elements of a unit.
template <class F>
struct SplitElements {
  float at[UnitShare<F>::own_lines][UnitShare<F>::parts][4];
};

/// k blocks by which lines come to L2 before they are loaded: what memory takes to hand them out is longer than a warp
/// takes for a unit.
consteval unsigned split_lines_ahead() { return 4; }

/// Loads a unit, zeros where the matrix ends.
template <class F>
class SplitLoads {
  using Share = UnitShare<F>;

 public:
  __device__ SplitLoads(const UnpackWgmmaArgs& args, const UnpackTile<F>& tile)
      : args_(args),
        dense_(static_cast<const float*>(args.dense) + tile.product * args.dense_stride),
        first_k_(static_cast<long long>(tile.first_block(args)) * packed_strip_columns()),
        first_column_(tile.first_column()) {}

  /// Of the slice's k block `block`.
  __device__ void load(SplitElements<F>& elements, unsigned block, unsigned unit) const {
    const long long lines_left = (Share::row_major ? args_.k : args_.n) - first_line(block, unit);
    const long long length_left = (Share::row_major ? args_.n : args_.k) - first_place(block, unit);
    // Most units are whole: without asking for each piece whether it exists a tenth of the instructions are saved.
    if (lines_left >= Share::lines && length_left >= Share::length) [[likely]] {
      load_pieces(elements, block, unit, [](int, int) { return true; });
    } else {
      const long long lines = lines_left - Share::first_line();
      const long long length = length_left - Share::first_place();
      load_pieces(elements, block, unit, [&](int line, int place) { return line < lines && place < length; });
    }
  }

  /// Brings a unit to L2: a line of a row-major B is at most 128 bytes, of a column-major one 256.
  __device__ void prefetch(unsigned block, unsigned unit) const {
    const unsigned own = threadIdx.x % 32;
    const long long line = first_line(block, unit) + own % Share::lines;
    const long long place = first_place(block, unit) + own / Share::lines * 32;
    const float* const from = dense_ + line * args_.dense_leading + place;
    const long long lines = Share::row_major ? args_.k : args_.n;
    const long long length = Share::row_major ? args_.n : args_.k;
    if (line < lines && place < length) prefetch_to_l2(from);
    if constexpr (Share::row_major) {
      if (line + 32 < lines && place < length) prefetch_to_l2(from + 32 * args_.dense_leading);
    } else if constexpr (Share::lines == 32) {
      if (line < lines && place + 32 < length) prefetch_to_l2(from + 32);
    }
  }

 private:
  using Four = Vector<float, 4>;

  /// The lane's pieces that exist(line, place) from its first one on.
  template <class Exist>
  __device__ void load_pieces(SplitElements<F>& elements, unsigned block, unsigned unit, Exist exist) const {
    const long long line = first_line(block, unit) + Share::first_line();
    const float* from = dense_ + line * args_.dense_leading + first_place(block, unit) + Share::first_place();
#pragma unroll
    for (int i = 0; i < Share::own_lines; ++i) {
#pragma unroll
      for (int part = 0; part < Share::parts; ++part) {
        const bool exists = exist(Share::lines_before(i), part * 32);
        const Four four = exists ? load_once(reinterpret_cast<const Four*>(from + part * 32)) : Four{};
#pragma unroll
        for (int j = 0; j < 4; ++j) elements.at[i][part][j] = four.at[j];
      }
      from += (Share::lines_before(i + 1) - Share::lines_before(i)) * args_.dense_leading;
      make_global_opaque(from);  // else every address is computed anew
    }
  }

  __device__ long long first_k(unsigned block) const {
    return first_k_ + static_cast<long long>(block) * packed_strip_columns();
  }
  __device__ long long first_column(unsigned unit) const { return first_column_ + unit * Share::columns; }
  __device__ long long first_line(unsigned block, unsigned unit) const {
    return Share::row_major ? first_k(block) : first_column(unit);
  }
  __device__ long long first_place(unsigned block, unsigned unit) const {
    return Share::row_major ? first_column(unit) : first_k(block);
  }

  const UnpackWgmmaArgs& args_;
  const float* dense_;
  long long first_k_;  ///< of the slice
  long long first_column_;
};

/// Where the first terms of own line i, piece `part`, lie. `first`: the first piece's.
template <class F>
__device__ inline unsigned piece_place(unsigned first, int i, int part) {
  const unsigned line = UnitShare<F>::narrow ? first : first ^ (i % 2 * 32 | part * 64);
  return line + UnitShare<F>::lines_before(i) * split_line_bytes();
}

/// The scales of the columns that a lane has elements of: of each k block anew, or those of a tile's first k block in
/// which a column has anything.
template <class F>
class SplitScales {
  using Share = UnitShare<F>;
  static constexpr bool scaled = packed_scales_rows(F::config.mode);
  static constexpr bool keeps = keeps_scales(F::config);
  static constexpr int columns = Share::row_major ? 4 : Share::own_lines;

 public:
  /// Finds them for a unit, and writes their inverses to `shared_inverses`, of the unit's columns.
  __device__ void take(const SplitElements<F>& elements, unsigned shared_inverses) {
    if constexpr (!scaled) return;
    if constexpr (keeps) {
      if (!complete_) [[unlikely]]
        complete(elements);
    } else {
      choose(elements);
    }
    store(shared_inverses);
  }

  /// Where they stay: another tile begins.
  __device__ void forget() {
    if constexpr (!keeps) return;
    complete_ = false;
#pragma unroll
    for (int i = 0; i < columns; ++i) inverses_[i] = 0, scales_[i] = 1.0F;
  }
  /// Where they stay: inverses that mark() may have changed.
  __device__ void take_marks(unsigned shared_inverses) {
    if constexpr (!keeps) return;
    __syncwarp();
    const Vector<float, 4> four = load_shared_four(shared_inverses + 4 * Share::first_place());
#pragma unroll
    for (int i = 0; i < columns; ++i) inverses_[i] = __builtin_bit_cast(unsigned, four.at[i]);
  }

  /// Of element j of a piece of own line i.
  __device__ float of(int i, int j) const { return scaled ? scales_[Share::row_major ? j : i] : 1.0F; }

  /// Marks the inverses of columns that may lose something, by the first terms that the lane has stored: three
  /// registers in place of the elements, and little code, which no cache holds when it is called. `vanishes`: an
  /// element may have left no term at all, so that zeros count.
  static __device__ void mark(unsigned first_term, unsigned shared_inverses, bool vanishes) {
    constexpr unsigned least_kept = terms(F::config) == 2 ? 0x2800 : 0x0400;  // f16 of packed_least_kept
    static_assert(packed_least_kept(F::config.mode) == (terms(F::config) == 2 ? 0x1p-5F : 0x1p-14F));
    const unsigned least = vanishes ? 0 : 1;
    const auto is_small = [&](unsigned term) { return (term & 0x7fffU) - least <= least_kept - least ? 1U : 0U; };
    if constexpr (Share::row_major) {
      unsigned counts = 0;  // of four columns, a byte each
#pragma unroll 4
      for (int i = 0; i < Share::own_lines; ++i) {
        const auto terms = load_terms(piece_place<F>(first_term, i, 0));
        counts += is_small(terms.at[0]) | is_small(terms.at[0] >> 16) << 8 | is_small(terms.at[1]) << 16 |
                  is_small(terms.at[1] >> 16) << 24;
      }
      counts = warp_sum<Share::line_lanes>(counts);
      if (threadIdx.x % 32 < Share::line_lanes)
#pragma unroll
        for (int j = 0; j < 4; ++j) add_mark(place(shared_inverses, j), counts >> 8 * j & 0xff);
    } else {
#pragma unroll 1
      for (int i = 0; i < Share::own_lines; ++i) {
        unsigned count = 0;
#pragma unroll
        for (int part = 0; part < Share::parts; ++part) {
          const auto terms = load_terms(piece_place<F>(first_term, i, part));
#pragma unroll
          for (int j = 0; j < 4; ++j) count += is_small(terms.at[j / 2] >> 16 * (j % 2));
        }
        count = warp_sum<1, 4>(count);
        if (threadIdx.x % 8 == 0) add_mark(place(shared_inverses, i), count);
      }
    }
  }

 private:
  /// Those of this k block.
  __device__ void choose(const SplitElements<F>& elements) {
    unsigned largest[columns];
    find_largest(largest, elements);
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      const unsigned of_column = largest_of_column(largest[i]);
      scales_[i] = __builtin_bit_cast(float, packed_power_bits(packed_scale_exponent(of_column)));
      inverses_[i] = inverse_scale_bits(of_column, F::traits.certify);
    }
  }

  /// Those of columns that were zeros so far.
  __device__ void complete(const SplitElements<F>& elements) {
    unsigned largest[columns];
    find_largest(largest, elements);
    bool lacks = false;
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      const unsigned of_column = largest_of_column(largest[i]);
      if (inverses_[i] == 0 && of_column != 0) {
        inverses_[i] = kept_inverse_bits(of_column);
        scales_[i] = __builtin_bit_cast(float, scale_bits_of(inverses_[i]));
      }
      lacks = lacks || inverses_[i] == 0;
    }
    complete_ = __all_sync(0xffffffffU, !lacks);
  }

  static __device__ unsigned largest_of_column(unsigned of_lane) {
    return Share::row_major ? warp_maximum<Share::line_lanes>(of_lane) : warp_maximum<1, 4>(of_lane);
  }

  /// visit(column, value) for each element of the lane.
  template <class Visit>
  static __device__ void visit(const SplitElements<F>& elements, Visit visit) {
#pragma unroll
    for (int i = 0; i < Share::own_lines; ++i)
#pragma unroll
      for (int part = 0; part < Share::parts; ++part)
#pragma unroll
        for (int j = 0; j < 4; ++j) visit(Share::row_major ? j : i, elements.at[i][part][j]);
  }

  static __device__ void find_largest(unsigned (&largest)[columns], const SplitElements<F>& elements) {
    float of_columns[columns] = {};
    visit(elements, [&](int column, float value) { of_columns[column] = fmaxf(of_columns[column], fabsf(value)); });
    bool all_finite = true;  // NaN passes fmaxf
#pragma unroll
    for (int i = 0; i < columns; ++i) {
      largest[i] = __builtin_bit_cast(unsigned, of_columns[i]);
      all_finite = all_finite && finite_magnitude(of_columns[i]) == largest[i];
    }
    if (all_finite) [[likely]]
      return;
#pragma unroll
    for (unsigned& bits : largest) bits = 0;
    visit(elements, [&](int column, float value) { largest[column] = max(largest[column], finite_magnitude(value)); });
  }

  /// Of an own column's inverse.
  static __device__ SharedAddress place(unsigned shared_inverses, int column) {
    return {shared_inverses +
            4 * (Share::row_major ? Share::first_place() + column : Share::first_line() + Share::lines_before(column))};
  }

  /// Where zeros count, so do those of columns that have nothing else: their inverse stays 0.
  static __device__ void add_mark(SharedAddress inverse, unsigned lossy) {
    const unsigned bits = load_word(inverse);
    if (lossy > 0 && bits != 0) store_word(inverse, marked_scale_bits(bits, lossy));
  }
  static __device__ Vector<unsigned, 2> load_terms(unsigned at) {
    return {load_word(SharedAddress{at}), load_word(SharedAddress{at + 4})};
  }

  __device__ void store(unsigned shared) const {
    if constexpr (Share::row_major) {
      float inverses[columns];
#pragma unroll
      for (int i = 0; i < columns; ++i) inverses[i] = __builtin_bit_cast(float, inverses_[i]);
      if (threadIdx.x % 32 < Share::line_lanes)
        store_shared_four(shared + 4 * Share::first_place(), {inverses[0], inverses[1], inverses[2], inverses[3]});
    } else {
      if (threadIdx.x % 8 > 0) return;
#pragma unroll
      for (int i = 0; i < columns; ++i) store_word(place(shared, i), inverses_[i]);
    }
  }

  float scales_[scaled ? columns : 1];
  unsigned inverses_[scaled ? columns : 1];
  bool complete_ = false;  ///< where they stay: no column of the unit was zeros so far
};

/// Where a lane's first terms of a unit lie in a stage. Chunk c of 16 bytes of a line lies at place c ^ (line % 8), and
/// every eighth line at a multiple of 1024 bytes: the other pieces' places differ from this one in known bits.
template <class F>
__device__ inline unsigned first_term_place(const UnpackWgmmaStages<F>& stages, unsigned stage, unsigned unit) {
  using Share = UnitShare<F>;
  static_assert(Share::stores_spread(), "terms that are stored together lie in different banks");
  const unsigned column = unit * Share::columns;
  const unsigned line = Share::first_line() + (Share::row_major ? 0 : column);
  const unsigned place = Share::first_place() + (Share::row_major ? column % 64 : 0);
  const unsigned plane = Share::row_major ? column / 64 * dense_group_bytes(F::config) : 0;
  return stages.dense(stage) + plane + line * split_line_bytes() + (place / 8 ^ line % 8) * 16 + place % 8 * 2;
}

/// Splits what was loaded, and stores it in a stage. What is not finite has terms that are not: its column of C is not
/// finite either. Returns which elements of the lane may be small enough to lose more than their rounding, where sums
/// are certified. `taken`() is called once the warp's elements are in registers: a load may be on its way long after it
/// was issued.
template <class F, class Taken>
__device__ inline SmallNumbers<F::config.mode> store_split(const SplitElements<F>& elements, SplitScales<F>& scales,
                                                           unsigned first, unsigned shared_inverses, Taken taken) {
  using Share = UnitShare<F>;
  constexpr auto config = F::config;
  scales.take(elements, shared_inverses);
  constexpr bool takes_all = packed_scales_rows(config.mode) && !keeps_scales(config);  // to find the largest
  if constexpr (takes_all) taken();
  SmallNumbers<config.mode> small;
#pragma unroll
  for (int i = 0; i < Share::own_lines; ++i)
#pragma unroll
    for (int part = 0; part < Share::parts; ++part) {
      const float(&values)[4] = elements.at[i][part];
      const float scaled[4] = {values[0] * scales.of(i, 0), values[1] * scales.of(i, 1), values[2] * scales.of(i, 2),
                               values[3] * scales.of(i, 3)};
      const SplitPair lower = split_finite_pair<config.mode>(scaled[0], scaled[1]);
      const SplitPair upper = split_finite_pair<config.mode>(scaled[2], scaled[3]);
      const unsigned high = piece_place<F>(first, i, part);
      if constexpr (certifies_splits(F::traits, config))
        small.add(scaled[0], scaled[1]), small.add(scaled[2], scaled[3]);
      store_shared_pair(high, {lower.high, upper.high});
      if constexpr (terms(config) == 2) {
        // Low parts lie in planes or lines of their own, or in the other half of a line.
        constexpr unsigned low_part = dense_low_part(F::traits, config);
        store_shared_pair(low_part < split_line_bytes() ? high ^ low_part : high + low_part, {lower.low, upper.low});
      }
    }
  if constexpr (!takes_all) taken();
  return small;
}

}  // namespace vostok
