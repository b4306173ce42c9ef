#include "ops/spmm/dense_rows.hpp"

#include "base/checked.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/spmm/line_alignment.hpp"

namespace vostok::ops {

std::int64_t aligned_length(std::int64_t length, Dtype type) { return round_up(length, 16 / size_of(type)); }

StoredMatrix dense_rows(std::int64_t k, std::int64_t n, Dtype element) {
  return stored_matrix(Layout::row_major, k, n, aligned_length(n, element), 0);
}

std::int64_t dense_rows_bytes(const SpmmQuery& query) {
  constexpr std::int64_t alignment_bytes = 256;
  const Spmm& problem = query.problem;
  const std::int64_t stride = dense_rows(query.statistics.cols, query.n.most, problem.element).stride;
  return round_up(checked_multiply(stride, problem.batch * size_of(problem.element), "bytes of the workspace"),
                  alignment_bytes);
}

Launch dense_rows_launch(const SpmmQuery& query, std::int64_t offset_bytes) {
  const Spmm& problem = query.problem;
  return transpose_launch<SpmmArguments>(
      problem.element, dense_alignment(query) >= 16,
      [k = query.statistics.cols, batch = problem.batch, leading = problem.dense_leading, stride = problem.dense_stride,
       offset_bytes, element = problem.element](const SpmmArguments& call) {
        return DenseTransposition{.source = call.dense,
                                  .destination = workspace_at(call.workspace, offset_bytes),
                                  .rows = call.n,
                                  .columns = k,
                                  .source_leading = leading,
                                  .destination_leading = aligned_length(call.n, element),
                                  .source_stride = stride,
                                  .batch = batch};
      });
}

}  // namespace vostok::ops
