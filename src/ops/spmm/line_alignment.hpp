// How the lines of B and C are aligned: the largest power of two that divides every line's start, up to the pointers'
// alignment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "ops/spmm/problem.hpp"

namespace vostok::ops {

/// `length`: elements of a line; `leading` and `stride` are the problem's, 0 if packed.
inline int line_alignment(const SpmmQuery& query, std::int64_t length, std::int64_t leading, std::int64_t stride,
                          Dtype type) {
  const std::int64_t step = std::gcd(leading == 0 ? length : leading, stride) * size_of(type);
  return static_cast<int>(
      std::max<std::int64_t>(std::gcd(std::int64_t{query.problem.alignment_bytes}, step), size_of(type)));
}

/// Alignment of B's lines. It also divides a line's length: a copy that starts in a line ends in it, so that
/// none reads past the matrix.
inline int dense_alignment(const SpmmQuery& query) {
  const Spmm& p = query.problem;
  const std::int64_t length = p.dense_layout == Layout::row_major ? query.n.divisor() : query.statistics.cols;
  return static_cast<int>(
      std::gcd(line_alignment(query, length, p.dense_leading, p.dense_stride, p.element), length * size_of(p.element)));
}

/// Alignment of the lines of C and of the residual.
inline int output_alignment(const SpmmQuery& query) {
  const Spmm& p = query.problem;
  const std::int64_t length = p.output_layout == Layout::row_major ? query.n.divisor() : query.statistics.rows;
  const Dtype type = p.output.value_or(p.element);
  return static_cast<int>(
      std::gcd(line_alignment(query, length, p.output_leading, p.output_stride, type), length * size_of(type)));
}

}  // namespace vostok::ops
