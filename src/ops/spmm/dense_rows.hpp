// Rows of a column-major B, which a launch makes in a plan's workspace for kernels that read rows.
#pragma once

#include <cstdint>

#include "ops/launch.hpp"
#include "ops/spmm/problem.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::ops {

/// Elements of a line of the workspace: copies of 16 bytes begin at its start.
std::int64_t aligned_length(std::int64_t length, Dtype type);
/// B [k, n] as it lies there, one behind another.
StoredMatrix dense_rows(std::int64_t k, std::int64_t n, Dtype element);
/// Of all of a batch, for the largest n.
std::int64_t dense_rows_bytes(const SpmmQuery& query);
/// Transposes B [n, k] into [k, n] at this offset in the workspace.
Launch dense_rows_launch(const SpmmQuery& query, std::int64_t offset_bytes);

}  // namespace vostok::ops
