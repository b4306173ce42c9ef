// B and C of a product as a launch keeps them, for bindings that learn n with each call.
#pragma once

#include <cstdint>

#include "ops/spmm/problem.hpp"

namespace vostok::ops {

/// A query's B [k, n] and C [m, n] but for n. Trivially copyable.
struct DenseOperands {
  std::int64_t m;
  std::int64_t k;
  std::int64_t batch;
  Layout dense_layout;
  Layout output_layout;
  std::int64_t dense_leading;  ///< as the problem declares: 0 if packed
  std::int64_t dense_stride;
  std::int64_t output_leading;
  std::int64_t output_stride;

  static DenseOperands of(const SpmmQuery& query) {
    const Spmm& problem = query.problem;
    return {.m = query.statistics.rows,
            .k = query.statistics.cols,
            .batch = problem.batch,
            .dense_layout = problem.dense_layout,
            .output_layout = problem.output_layout,
            .dense_leading = problem.dense_leading,
            .dense_stride = problem.dense_stride,
            .output_leading = problem.output_leading,
            .output_stride = problem.output_stride};
  }

  StoredMatrix dense(std::int64_t n) const { return stored_matrix(dense_layout, k, n, dense_leading, dense_stride); }
  StoredMatrix output(std::int64_t n) const {
    return stored_matrix(output_layout, m, n, output_leading, output_stride);
  }
};

}  // namespace vostok::ops
