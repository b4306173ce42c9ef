// The launch that prepares A and B for the tensor cores (abi/sample_operands.h), and where its results lie in the workspace.
#pragma once

#include <cstdint>

#include <abi/sample_operands.h>
#include <abi/tensor_sample.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

/// One operand in the workspace.
struct PreparedRows {
  std::int64_t octets = 0;  ///< of rows, those past the matrix included
  std::int64_t octets_offset_bytes = 0;
  std::int64_t exponents_offset_bytes = 0;

  SampledOperand operand(void* workspace) const;
};

struct PreparedRowPair {
  PreparedRows lhs;
  PreparedRows rhs;
  std::int64_t bytes = 0;  ///< of all of it from the workspace's start, a multiple of 256
};

/// Rows are rounded up to those of the tiles. Errors: invalid_argument where the bytes are past 64 bits.
PreparedRowPair prepared_rows(const SddmmQuery& query, PackedMode mode, const TileShape& shape);

/// The first launch of a plan that multiplies n in so many parts.
Launch sample_operands_launch(const SddmmQuery& query, PackedMode mode, const PreparedRowPair& prepared, int n_parts);

}  // namespace vostok::ops
