#include "ops/topology/packed_strips.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/form_bytes.hpp"

namespace vostok::ops {

namespace {

constexpr std::string_view name_prefix = "strip16x64/pair/";
constexpr std::int64_t set_alignment_bytes = 256;

std::int64_t scale_bytes(PackedMode mode, std::int64_t row_strips) {
  return packed_scales_rows(mode) ? row_strips * packed_strip_rows * std::int64_t{sizeof(float)} : 0;
}

PackedLayout layout_of(PackedMode mode, std::int64_t row_strips, std::int64_t units) {
  const std::int64_t scales = scale_bytes(mode, row_strips);
  return {.data_offset_bytes = scales, .set_bytes = scales + round_up(units * packed_unit_bytes, set_alignment_bytes)};
}

std::int64_t strips_of(const TopologyStatistics& walked) { return packed_strip_count(walked.rows, walked.cols); }

std::int64_t most_units(const TopologyStatistics& walked, int pair_words) {
  const std::int64_t strips = strips_of(walked);
  // A row has no more pairs than nonzeros, and none of more columns than it has; each strip is rounded up once.
  const std::int64_t row_pairs = std::min(walked.longest_row, ceil_div(walked.cols, 2));
  const std::int64_t pairs = std::min(walked.nonzeros, checked_multiply(walked.rows, row_pairs, "pairs of packed strips"));
  return strips * packed_strip_units(0, 1) + ceil_div(pairs * pair_words, 4) + std::min(strips, pairs);
}

}  // namespace

std::string packed_format(PackedMode mode) { return std::string(name_prefix) + name(mode); }

std::optional<PackedMode> packed_mode(std::string_view format) {
  for (int i = 0; name(static_cast<PackedMode>(i)) != nullptr; ++i)
    if (format == packed_format(static_cast<PackedMode>(i))) return static_cast<PackedMode>(i);
  return std::nullopt;
}

std::optional<std::string> packed_strips_declined(const TopologyStatistics& walked) {
  constexpr std::int64_t header_bytes_per_nonzero = 64;
  if (walked.duplicates) return "packed strips hold a column once: a row of the mask names one twice";
  // Packing looks at most two batches of lanes past the last number, in 32 bits too.
  constexpr std::int64_t looked_past = 512;
  if (walked.nonzeros > std::numeric_limits<std::int32_t>::max() - looked_past) return "packed strips number their values in 32 bits";
  const std::int64_t header_bytes = checked_multiply(strips_of(walked), packed_header_bytes, "bytes of packed strips");
  if (is_mostly_room(header_bytes, walked.nonzeros, header_bytes_per_nonzero))
    return fmt::format("nearly all packed strips would be empty: {} bytes of headers for {} nonzeros", header_bytes, walked.nonzeros);
  if (most_units(walked, 2) > std::numeric_limits<std::int32_t>::max()) return "packed strips of 32 GiB and more are past their offsets' range";
  return std::nullopt;
}

PackedLayout packed_layout(PackedMode mode, const PackedStructure& structure) {
  return layout_of(mode, structure.row_strips, structure.units[packed_pair_words(mode) - 1]);
}

PackedLayout packed_layout_bound(PackedMode mode, const TopologyStatistics& walked) {
  return layout_of(mode, packed_row_strips(walked.rows), most_units(walked, packed_pair_words(mode)));
}

}  // namespace vostok::ops
