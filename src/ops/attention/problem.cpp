#include "ops/attention/problem.hpp"

#include <string_view>
#include <type_traits>

#include "ops/resolved_query.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok::ops {

namespace {

/// Fills in the leading dimension and stride of one operand [batch, rows, width].
void resolve(std::int64_t& leading, std::int64_t& stride, std::int64_t rows, std::int64_t width) {
  const StoredMatrix matrix = stored_matrix(Layout::row_major, rows, width, leading, stride);
  leading = matrix.leading;
  stride = matrix.stride;
}

}  // namespace

template <class Problem>
std::shared_ptr<AttentionQueryOf<Problem>> make_attention_query(const SparseAttention& problem,
                                                                const TopologyStatistics& statistics,
                                                                const device::Device* device) {
  constexpr std::string_view operation = std::is_same_v<Problem, FusedAttention> ? "attention" : "attention_backward";
  Problem resolved{.attention = problem};
  SparseAttention& attention = resolved.attention;
  if (attention.value_size == 0) attention.value_size = attention.n;
  attention.heads_at_once = 0;
  attention.index = resolve_index("attention", problem.index, statistics.cols);
  resolve(attention.query_leading, attention.query_stride, statistics.rows, attention.n);
  resolve(attention.key_leading, attention.key_stride, statistics.cols, attention.n);
  resolve(attention.value_leading, attention.value_stride, statistics.cols, attention.value_size);
  resolve(attention.output_leading, attention.output_stride, statistics.rows, attention.value_size);
  const SizeRange n{.least = problem.n, .most = problem.n};
  return resolved_query<AttentionQueryOf<Problem>>(operation, resolved, statistics, n, device);
}

template std::shared_ptr<AttentionQuery> make_attention_query<FusedAttention>(const SparseAttention&,
                                                                              const TopologyStatistics&,
                                                                              const device::Device*);
template std::shared_ptr<AttentionBackwardQuery> make_attention_query<FusedAttentionBackward>(const SparseAttention&,
                                                                                              const TopologyStatistics&,
                                                                                              const device::Device*);

}  // namespace vostok::ops
