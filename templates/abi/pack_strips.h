// pack_strips, values into packed strips: what host and kernel share.
#pragma once

#include "abi/enums.h"
#include "abi/fields.h"
#include "abi/packed_strips.h"

namespace vostok {

struct PackStripsTraits {
  PackedMode mode = PackedMode::f16x1;
  Dtype element = Dtype::f16;  ///< of the values
  PackedGrain grain = PackedGrain::pair;
  bool marked = false;
  bool placed = false;  ///< the values of every structure lie where its value_places says: those of a transpose
};

struct PackStripsConfig {
  int threads = 128;
};

struct PackStripsArgs {
  PackedStructure structure;
  const void* values;    ///< CSR order of A
  unsigned char* data;   ///< of the first set
  float* row_scales;     ///< likewise, where the mode scales rows
  LeftEntry* left_over;  ///< likewise, where the grain leaves nonzeros over
  int* firsts;           ///< ExactValues of marked strips, likewise; null: they are read where the caller has them
  float* exact;
  long long value_stride;  ///< elements between two sets
  long long set_bytes;     ///< the same of what is packed
  unsigned sets;
  unsigned splits;  ///< blocks that share the strips of a row strip
};

template <FieldsOf<PackStripsTraits> S, class Visit>
constexpr void fields(S& traits, Visit&& visit) {
  visit("mode", traits.mode);
  visit("element", traits.element);
  visit("grain", traits.grain);
  visit("marked", traits.marked);
  visit("placed", traits.placed);
}

template <FieldsOf<PackStripsConfig> S, class Visit>
constexpr void fields(S& config, Visit&& visit) {
  visit("threads", config.threads);
}

/// Words of the largest strip.
constexpr int pack_strips_words(PackedMode mode, PackedGrain grain) {
  return packed_header_words(grain) + packed_most(grain) * packed_pair_words(mode);
}

/// Words that a strip's values take, with what lies in the units of 16 bytes at the ends of each row. Those of 4 bytes
/// are not copied: what that saves is less than the warps that it takes away
/// (bench/notes/packing.md#what-limits-packing). Those of a transpose do not lie side by side.
constexpr int pack_strips_copied_words(Dtype element, bool placed) {
  return size_of(element) == 2 && !placed ? packed_strip_rows() * (packed_strip_columns() * 2 + packed_unit_bytes()) / 4
                                          : 0;
}

/// Whether a block's warps work at neighbouring row strips of one k block: a transpose has these strips' values side by
/// side, and one strip's hardly (bench/notes/packing.md#values-of-a-transpose). A block that scales rows, or leaves
/// nonzeros over, has one row strip.
constexpr bool packs_beside(const PackStripsTraits& traits) {
  return traits.placed && !packed_scales_rows(traits.mode) && traits.grain != PackedGrain::four;
}

/// Shared memory of a block: for each warp a strip as it will lie, then copies of its values; and the rows' scales.
template <PackedMode mode, PackedGrain grain, int copied_words, int threads>
struct PackStripsShared {
  alignas(packed_unit_bytes()) unsigned words[threads / packed_lanes()][pack_strips_words(mode, grain) + copied_words];
  float scales[packed_strip_rows()];
};

constexpr int shared_bytes(const PackStripsTraits& traits, const PackStripsConfig& config) {
  return config.threads / packed_lanes() * 4 *
             (pack_strips_words(traits.mode, traits.grain) + pack_strips_copied_words(traits.element, traits.placed)) +
         4 * packed_strip_rows();
}

}  // namespace vostok
