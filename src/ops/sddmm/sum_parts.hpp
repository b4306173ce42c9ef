// The launch that adds sums computed in parts and stores D, and a rule of families with such parts.
#pragma once

#include <cstdint>

#include "ops/rules.hpp"
#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

/// Bytes of all parts of the batch's sums.
std::int64_t part_bytes(const SddmmQuery& query, int parts);

template <class Case>
inline constexpr Rule<Case> parts_fit = {"the parts of sums would take more than 256 MiB", [](const Case& c) {
                                           return c.config.n_split > 1 &&
                                                  part_bytes(c.query, c.config.n_split) > std::int64_t{256} << 20;
                                         }};

/// Adds `parts` parts, stored at this offset of the call's workspace as [batch, parts, nonzeros], and stores D.
Launch sum_parts_launch(const SddmmQuery& query, int parts, std::int64_t workspace_offset);

}  // namespace vostok::ops
