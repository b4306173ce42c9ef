// Masks on the device: which elements of a matrix become nonzeros. Everything is queued; nothing waits.
#pragma once

#include <cstdint>
#include <vector>

#include <abi/mask.h>

#include "ops/topology/queue.hpp"

namespace vostok::ops {

/// Rules, one for each row, that keep `total` random keys, spread over the rows as equally as possible.
void select_uniform(const Queue& queue, std::uint64_t seed, std::int64_t rows, std::int64_t cols, std::int64_t total,
                    SelectionRule* rules);

/// A row-major dense matrix.
struct DenseOperand {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t leading = 0;
  Dtype element = Dtype::f32;
};

/// Rules that keep the `kept` elements of largest magnitude of every row.
void select_largest_of_rows(const Queue& queue, const DenseOperand& dense, std::int64_t kept, SelectionRule* rules);
/// One rule that keeps the `kept` elements of largest magnitude of the matrix.
void select_largest(const Queue& queue, const DenseOperand& dense, std::int64_t kept, SelectionRule* rule);

/// The rule that keeps magnitudes above `threshold`, which must not be NaN. NaN elements are above every threshold.
SelectionRule rule_above(float threshold);

/// Writes int64 row offsets of the elements that the mask keeps. `tie_offsets` [rows + 1] is written, and must be kept,
/// if a rule spans rows; null if every row has a rule, or none needs one.
void count_mask(const Queue& queue, const MaskTraits& traits, MaskArgs args, std::int64_t* tie_offsets,
                std::int64_t* row_offsets);

/// Writes columns, and values, of the elements that the mask keeps; `args` must equal those of the count.
void fill_mask(const Queue& queue, const MaskTraits& traits, MaskArgs args, const std::int64_t* tie_offsets,
               const std::int64_t* row_offsets, std::int32_t* columns, void* values);

/// The falloff of an attention mask.
struct AttentionBand {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool causal = false;
  double density = 0;  ///< expected share of the elements beyond the band (not right of the diagonal, if causal)
};

/// Probabilities in units of 2^-32, by distance from the diagonal: inversely proportional to it, at most 1, with the
/// wanted density. Integers, so that a mask is the same on every machine.
std::vector<std::uint32_t> falling_probabilities(const AttentionBand& band);

}  // namespace vostok::ops
