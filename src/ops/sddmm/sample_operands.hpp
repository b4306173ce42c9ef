// The launch that prepares A and B for the tensor cores (abi/sample_operands.h), and where its results lie in the
// workspace.
#pragma once

#include <cstdint>

#include <abi/sample_operands.h>
#include <abi/tensor_sample.h>

#include "ops/sddmm/problem.hpp"

namespace vostok::ops {

/// The alignment in bytes of every line of an operand.
int line_alignment(const SddmmQuery& query, const StoredMatrix& stored);

/// One operand in the workspace.
struct PreparedRows {
  std::int64_t octets = 0;  ///< of rows, including those past the matrix
  std::int64_t octets_offset_bytes = 0;
  std::int64_t exponents_offset_bytes = 0;
  std::int64_t marks_offset_bytes = 0;

  /// `rows`: the operand as it is.
  SampledOperand operand(void* workspace, const SampledRows& rows) const;
};

struct PreparedRowPair {
  PreparedRows lhs;
  PreparedRows rhs;
  std::int64_t bytes = 0;  ///< from the workspace's start, a multiple of 256
};

/// How sums are computed: the mode that splits f32, and the number of parts of n.
struct SampleWork {
  PackedMode mode;
  int n_split = 1;

  template <class Config>
  static SampleWork of(const Config& config) {
    return {.mode = config.mode, .n_split = config.n_split};
  }
};

/// The operands' rows, rounded up to whole tiles. Errors: invalid_argument if the bytes exceed 64 bits.
PreparedRowPair prepared_rows(const SddmmQuery& query, const SampleWork& work, const TileShape& shape);

/// The first launch of a plan.
Launch sample_operands_launch(const SddmmQuery& query, const SampleWork& work, const PreparedRowPair& prepared);

}  // namespace vostok::ops
