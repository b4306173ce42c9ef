// The launch that makes D of sums that were computed in parts.
#pragma once

#include <cstdint>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

/// Bytes of the parts of every sum of the batch.
std::int64_t part_bytes(const SddmmQuery& query, int parts);

/// Adds `parts` parts, which lie at this offset of the call's workspace as [batch, parts, nonzeros], and stores D.
Launch sum_parts_launch(const SddmmQuery& query, int parts, std::int64_t workspace_offset);

}  // namespace vostok::ops
