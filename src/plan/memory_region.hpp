// The bytes that an operand takes up behind its pointer, and whether two operands share any.
#pragma once

#include <algorithm>
#include <cstdint>

#include <vostok/enums.hpp>

#include "ops/stored_matrix.hpp"

namespace vostok::plan {

/// Lines of `length` bytes: `outer` groups, `outer_step` apart, of `inner` lines, `inner_step` apart. If there is only
/// one level, it is `inner`, and outer is 1.
struct Region {
  std::int64_t outer = 1;
  std::int64_t outer_step = 0;
  std::int64_t inner = 1;
  std::int64_t inner_step = 0;
  std::int64_t length = 0;

  std::int64_t lines() const { return length > 0 ? outer * inner : 0; }
  /// From the first byte to past the last, gaps between lines included.
  std::int64_t bytes() const { return lines() > 0 ? (outer - 1) * outer_step + (inner - 1) * inner_step + length : 0; }
  /// Whether any byte lies in [begin, end), counted from the region's start.
  bool meets(std::int64_t begin, std::int64_t end) const;

  friend bool operator==(const Region&, const Region&) = default;
};

/// Whether two regions share a byte; the second starts `distance` bytes after the first. Exact: lines of one may lie
/// between lines of the other. Costs a few steps if both have the same strides, as slices of one array do, else one for
/// each line of the region of fewer lines.
bool share_bytes(const Region& first, const Region& second, std::int64_t distance);

/// Contiguous bytes.
inline Region plain_region(std::int64_t bytes) { return {.length = bytes}; }

/// `sets` of `count` elements, `stride` elements apart.
Region array_region(std::int64_t count, Dtype type, std::int64_t sets = 1, std::int64_t stride = 0);

/// A batch of matrices.
Region matrix_region(const ops::StoredMatrix& matrix, Dtype type, std::int64_t batch);

}  // namespace vostok::plan
