#include "ops/spmm/dense_map.hpp"

namespace vostok::ops {

bool lacks_tensor_maps(const SpmmQuery& query) { return lacks_tensor_maps(query.device); }

bool is_past_tensor_maps(const SpmmQuery& query) {
  return is_past_tensor_maps(query.dense(query.n.most), query.problem.batch, query.problem.element);
}

bool is_narrower_than_boxes(const SpmmQuery& query, Layout layout, int tile_columns) {
  return layout == Layout::row_major && tile_columns < box_length(query.problem.element) && query.n.most > tile_columns;
}

}  // namespace vostok::ops
