#include "ops/attention/problem.hpp"

#include <cmath>
#include <string_view>
#include <type_traits>

#include "ops/resolved_query.hpp"

namespace vostok::ops {

AttentionMatrices attention_matrices(const SparseAttention& problem, const TopologyStatistics& mask) {
  const auto stored = [](std::int64_t rows, std::int64_t width, std::int64_t leading, std::int64_t stride) {
    return stored_matrix(Layout::row_major, rows, width, leading, stride);
  };
  const std::int64_t value_size = value_size_of(problem);
  return {.query = stored(mask.rows, problem.n, problem.query_leading, problem.query_stride),
          .key = stored(mask.cols, problem.n, problem.key_leading, problem.key_stride),
          .value = stored(mask.cols, value_size, problem.value_leading, problem.value_stride),
          .output = stored(mask.rows, value_size, problem.output_leading, problem.output_stride)};
}

float attention_scale(std::int64_t key_size, float passed) {
  if (passed != 0) return passed;
  return key_size > 0 ? 1.0F / std::sqrt(static_cast<float>(key_size)) : 1.0F;  // without sizes every score is 0
}

namespace {

void fill_in(SparseAttention& problem, const AttentionMatrices& operands) {
  problem.query_leading = operands.query.leading;
  problem.query_stride = operands.query.stride;
  problem.key_leading = operands.key.leading;
  problem.key_stride = operands.key.stride;
  problem.value_leading = operands.value.leading;
  problem.value_stride = operands.value.stride;
  problem.output_leading = operands.output.leading;
  problem.output_stride = operands.output.stride;
}

}  // namespace

template <class Problem>
std::shared_ptr<AttentionQueryOf<Problem>> make_attention_query(const SparseAttention& problem,
                                                                const TopologyStatistics& statistics,
                                                                const device::Device* device) {
  constexpr std::string_view operation = std::is_same_v<Problem, FusedAttention> ? "attention" : "attention_backward";
  Problem resolved{.attention = problem};
  SparseAttention& attention = resolved.attention;
  attention.value_size = value_size_of(problem);
  attention.heads_at_once = 0;
  if (attention.key_heads == attention.batch) attention.key_heads = 0;
  attention.index = resolve_index("attention", problem.index, statistics.cols);
  fill_in(attention, attention_matrices(problem, statistics));
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
