// Packed strips (abi/packed_strips.h): the format's names, its limits, and where its parts lie in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <vostok/topology.hpp>

#include <abi/enums.h>
#include <abi/packed_strips.h>

namespace vostok::ops {

/// A kind of packed strips.
struct StripKind {
  PackedMode mode = PackedMode::f16x1;
  PackedGrain grain = PackedGrain::pair;
  bool marked = false;

  friend constexpr bool operator==(const StripKind&, const StripKind&) = default;
};

/// Every kind.
std::vector<StripKind> strip_kinds();

/// "strip16x64/pair/f16x3", or "strip16x64/pair/f16x3/marked": the name that Family::packed_format returns.
std::string packed_format(StripKind kind);
/// The kind of this name; nothing if it is not one.
std::optional<StripKind> find_strip_kind(std::string_view format);

/// Whether a mode's strips can be made of values of this type: 16-bit ones in their own x1 mode, f32 in every mode.
constexpr bool packs(PackedMode mode, Dtype element) {
  if (element == Dtype::f32) return true;
  return mode == (element == Dtype::f16 ? PackedMode::f16x1 : PackedMode::bf16x1);
}

/// Strips of a matrix of this size, as kernels walk it.
constexpr std::int64_t packed_strip_count(std::int64_t rows, std::int64_t cols) {
  return packed_row_strips(rows) * packed_k_blocks(cols);
}

/// Why a matrix has no packed strips; nothing if it has. `walked`: statistics of the matrix as kernels walk it.
std::optional<std::string> packed_strips_declined(const TopologyStatistics& walked,
                                                  PackedGrain grain = PackedGrain::pair);

/// One set of packed values: scales first, if the mode has them, and where exact values of each row begin, if strips
/// are marked; then the strips' data, the left-over entries and the exact values.
struct PackedLayout {
  std::int64_t firsts_offset_bytes = 0;
  std::int64_t data_offset_bytes = 0;
  std::int64_t left_offset_bytes = 0;
  std::int64_t exact_offset_bytes = 0;
  std::int64_t used_bytes = 0;
  std::int64_t set_bytes = 0;  ///< a multiple of 256
};

/// `structure`: of the kind's grain.
PackedLayout packed_layout(StripKind kind, const PackedStructure& structure);
/// Of values that are packed in each call, where exact ones are read from the call's: large enough for every structure
/// with these statistics.
PackedLayout packed_layout_bound(StripKind kind, const TopologyStatistics& walked);

}  // namespace vostok::ops
