#include "ops/spmm/dense_map.hpp"

#include <algorithm>
#include <limits>

namespace vostok::ops {

bool lacks_tensor_maps(const SpmmQuery& query) { return query.device != nullptr && !query.device->has_tensor_maps(); }

bool is_past_tensor_maps(const SpmmQuery& query) {
  constexpr std::int64_t longest_box = 256;  // places past the matrix count, too
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max() - longest_box;
  constexpr std::int64_t most_stride_bytes = (std::int64_t{1} << 40) - 1;
  const Spmm& problem = query.problem;
  if (std::max({query.n.most, query.statistics.cols, problem.batch}) > most) return true;
  const StoredMatrix b = query.dense(query.n.most);
  const std::int64_t most_stride = most_stride_bytes / size_of(problem.element);
  return b.leading > most_stride || (problem.batch > 1 && b.stride > most_stride);
}

bool is_narrower_than_boxes(const SpmmQuery& query, int tile_columns) {
  constexpr int box_columns = 64;
  return query.problem.dense_layout == Layout::row_major && tile_columns < box_columns && query.n.most > tile_columns;
}

}  // namespace vostok::ops
