#include "ops/topology/sparse_strips.hpp"

#include <algorithm>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/topology/form_bytes.hpp"
#include "ops/topology/packed_strips.hpp"

namespace vostok::ops {

namespace {

constexpr std::string_view name_prefix = "strip16x64/2:4/";
constexpr std::int64_t set_alignment_bytes = 256;

std::int64_t most_units(const TopologyStatistics& walked) {
  const std::int64_t strips = packed_strip_count(walked.rows, walked.cols);
  const std::int64_t steps = strips * sparse_steps();
  // A first pass has at least one nonzero; a second one needs three in four columns.
  const std::int64_t passes = std::min(steps, walked.nonzeros) + std::min(steps, walked.nonzeros / 3);
  return strips * sparse_strip_units(0) +
         checked_multiply(passes, sparse_pass_bytes() / packed_unit_bytes(), "units of sparse strips");
}

}  // namespace

std::string sparse_format(Dtype element) { return std::string(name_prefix) + name(element); }

std::optional<Dtype> sparse_format_element(std::string_view format) {
  for (const Dtype element : {Dtype::f16, Dtype::bf16})
    if (format == sparse_format(element)) return element;
  return std::nullopt;
}

std::optional<std::string> sparse_strips_declined(const TopologyStatistics& walked) {
  constexpr std::int64_t group_bytes_per_nonzero = 64;
  if (walked.duplicates) return "sparse strips hold a column once: a row of the mask names one twice";
  if (walked.nonzeros > std::numeric_limits<std::int32_t>::max()) return "sparse strips number their values in 32 bits";
  const std::int64_t group_bytes = checked_multiply(packed_strip_count(walked.rows, walked.cols),
                                                    packed_header_bytes(PackedGrain::pair), "bytes of sparse strips");
  if (is_mostly_room(group_bytes, walked.nonzeros, group_bytes_per_nonzero))
    return fmt::format("nearly all sparse strips would be empty: {} bytes for the places of {} nonzeros", group_bytes,
                       walked.nonzeros);
  if (most_units(walked) > std::numeric_limits<std::int32_t>::max())
    return "sparse strips of 32 GiB and more are past their offsets' range";
  return std::nullopt;
}

std::int64_t sparse_set_bytes(const SparseStructure& structure) {
  return round_up(std::int64_t{structure.units} * packed_unit_bytes(), set_alignment_bytes);
}

std::int64_t sparse_set_bytes_bound(const TopologyStatistics& walked) {
  return round_up(most_units(walked) * packed_unit_bytes(), set_alignment_bytes);
}

}  // namespace vostok::ops
