// The launch that adds sums computed in parts, and stores D.
#pragma once

#include <cstdint>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

/// Bytes of all parts of the batch's sums.
std::int64_t part_bytes(const SddmmQuery& query, int parts);

/// Adds `parts` parts, stored at this offset of the call's workspace as [batch, parts, nonzeros], and stores D.
Launch sum_parts_launch(const SddmmQuery& query, int parts, std::int64_t workspace_offset);

}  // namespace vostok::ops
