#include "ops/topology/packed_strips.hpp"

#include <algorithm>
#include <limits>

#include <abi/packed_fours.h>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/form_bytes.hpp"

namespace vostok::ops {

namespace {

constexpr std::int64_t set_alignment_bytes = 256;

std::int64_t scale_bytes(PackedMode mode, std::int64_t row_strips) {
  return packed_scales_rows(mode) ? row_strips * packed_strip_rows() * std::int64_t{sizeof(float)} : 0;
}

/// `exact`: how many values lie beside as they are, if any do.
PackedLayout layout_of(PackedMode mode, std::int64_t row_strips, std::int64_t units, std::int64_t left,
                       std::optional<std::int64_t> exact) {
  PackedLayout layout;
  layout.firsts_offset_bytes = scale_bytes(mode, row_strips);
  layout.data_offset_bytes = layout.firsts_offset_bytes;
  if (exact) layout.data_offset_bytes += row_strips * packed_strip_rows() * std::int64_t{sizeof(int)};
  layout.left_offset_bytes = layout.data_offset_bytes + units * packed_unit_bytes();
  layout.exact_offset_bytes = layout.left_offset_bytes + left * std::int64_t{sizeof(LeftEntry)};
  layout.used_bytes = layout.exact_offset_bytes + exact.value_or(0) * std::int64_t{sizeof(float)};
  layout.set_bytes = round_up(layout.used_bytes, set_alignment_bytes);
  return layout;
}

std::int64_t strips_of(const TopologyStatistics& walked) { return packed_strip_count(walked.rows, walked.cols); }

std::int64_t most_units(PackedGrain grain, const TopologyStatistics& walked, int pair_words) {
  const std::int64_t strips = strips_of(walked);
  if (grain == PackedGrain::whole)
    return checked_multiply(strips, packed_strip_units(grain, 0, pair_words), "units of strips");
  // A row has no more pairs than nonzeros, and no more than its columns allow; each strip is rounded up once.
  const std::int64_t row_pairs =
      std::min(walked.longest_row, ceil_div(walked.cols, grain == PackedGrain::four ? 4 : 2));
  const std::int64_t pairs =
      std::min(walked.nonzeros, checked_multiply(walked.rows, row_pairs, "pairs of packed strips"));
  return strips * packed_strip_units(grain, 0, 1) + ceil_div(pairs * pair_words, 4) + std::min(strips, pairs);
}

/// For every left-over nonzero there is at least one in strips.
std::int64_t most_left(PackedGrain grain, const TopologyStatistics& walked) {
  return grain == PackedGrain::four ? walked.nonzeros / 2 : 0;
}

}  // namespace

std::vector<StripKind> strip_kinds() {
  std::vector<StripKind> list;
  for (int grain = 0; name(static_cast<PackedGrain>(grain)) != nullptr; ++grain)
    for (int mode = 0; name(static_cast<PackedMode>(mode)) != nullptr; ++mode)
      for (const bool marked : {false, true})
        if (packed_stores_terms(static_cast<PackedMode>(mode)) &&
            (!marked || packed_scales_rows(static_cast<PackedMode>(mode))))
          list.push_back({static_cast<PackedMode>(mode), static_cast<PackedGrain>(grain), marked});
  return list;
}

std::string packed_format(StripKind kind) {
  return fmt::format("strip16x64/{}/{}{}", name(kind.grain), name(kind.mode), kind.marked ? "/marked" : "");
}

std::optional<StripKind> find_strip_kind(std::string_view format) {
  for (const StripKind& kind : strip_kinds())
    if (format == packed_format(kind)) return kind;
  return std::nullopt;
}

std::optional<std::string> packed_strips_declined(const TopologyStatistics& walked, PackedGrain grain) {
  // What does not depend on the nonzeros: headers, or whole strips, of which 1 in 64 is to be named.
  const bool is_whole = grain == PackedGrain::whole;
  const std::int64_t bytes_per_nonzero = is_whole ? 128 : std::int64_t{64} * packed_lane_words(grain);
  if (walked.duplicates) return "packed strips hold a column once: a row of the mask names one twice";
  if (grain == PackedGrain::four && walked.cols > fours_most_columns())
    return "columns of what strips leave over have 28 bits";
  // Packing reads up to two batches of lanes past the last number, which must fit in 32 bits too.
  constexpr std::int64_t looked_past = 512;
  if (walked.nonzeros > std::numeric_limits<std::int32_t>::max() - looked_past)
    return "packed strips number their values in 32 bits";
  const std::int64_t bytes = checked_multiply(
      strips_of(walked), std::int64_t{packed_unit_bytes()} * packed_strip_units(grain, 0, 1), "bytes of packed strips");
  if (is_mostly_room(bytes, walked.nonzeros, bytes_per_nonzero))
    return fmt::format("nearly all packed strips would be empty: {} bytes of {} for {} nonzeros", bytes,
                       is_whole ? "strips" : "headers", walked.nonzeros);
  if (most_units(grain, walked, 2) > std::numeric_limits<std::int32_t>::max())
    return "packed strips of 32 GiB and more are past their offsets' range";
  return std::nullopt;
}

PackedLayout packed_layout(StripKind kind, const PackedStructure& structure) {
  return layout_of(kind.mode, structure.row_strips, structure.units[packed_pair_words(kind.mode) - 1], structure.left,
                   kind.marked ? std::optional<std::int64_t>(structure.nonzeros) : std::nullopt);
}

PackedLayout packed_layout_bound(StripKind kind, const TopologyStatistics& walked) {
  return layout_of(kind.mode, packed_row_strips(walked.rows),
                   most_units(kind.grain, walked, packed_pair_words(kind.mode)), most_left(kind.grain, walked),
                   std::nullopt);
}

}  // namespace vostok::ops
