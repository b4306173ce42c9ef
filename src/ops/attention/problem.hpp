// Attention's problem inside the library: its fields listed once, and its query where one kernel computes it.
#pragma once

#include <memory>

#include <vostok/attention.hpp>

#include "ops/family.hpp"
#include "ops/problem_fields.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok {

template <FieldsOf<SparseAttention> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  constexpr KeyRole anywhere{"kernels gather lines from wherever they lie"};
  visit("n", problem.n, KeyRole{"a feature: stored exact, bucketed for look-up"});
  visit("value_size", problem.value_size, KeyRole{});
  visit("batch", problem.batch, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("index", problem.index, KeyRole{});
  visit("query_leading", problem.query_leading, anywhere);
  visit("key_leading", problem.key_leading, anywhere);
  visit("value_leading", problem.value_leading, anywhere);
  visit("output_leading", problem.output_leading, anywhere);
  visit("query_stride", problem.query_stride, anywhere);
  visit("key_stride", problem.key_stride, anywhere);
  visit("value_stride", problem.value_stride, anywhere);
  visit("output_stride", problem.output_stride, anywhere);
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("math", problem.math, KeyRole{});
  visit("deterministic", problem.deterministic, KeyRole{});
  visit("nonfinite", problem.nonfinite, KeyRole{.stored_as = "sparse"});
  visit("saved", problem.saved, KeyRole{.beside = true});
  visit("heads_at_once", problem.heads_at_once, KeyRole{"one kernel computes all heads"});
  constexpr KeyRole later_beside{.beside = true, .later = true};
  visit("key_heads", problem.key_heads, later_beside);
  visit("capped", problem.capped, later_beside);
  visit("causal", problem.causal, later_beside);
  visit("biased", problem.biased, later_beside);
  visit("bias_stride", problem.bias_stride, KeyRole{.left_out = anywhere.left_out, .later = true});
  visit("dropped", problem.dropped, later_beside);
}
static_assert(ops::lists_every_problem_field<SparseAttention>(),
              "problem_fields must name every member of SparseAttention");

/// Attention that one kernel computes; beside it stands the composition of sampled product, softmax and product.
struct FusedAttention {
  using Arguments = AttentionArguments;
  static constexpr bool masked = true;

  SparseAttention attention = {};
};

/// Its gradients, likewise.
struct FusedAttentionBackward {
  using Arguments = AttentionBackwardArguments;
  static constexpr bool masked = true;

  SparseAttention attention = {};  ///< the forward problem
};

template <FieldsOf<FusedAttention> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  problem_fields(problem.attention, visit);
}
template <FieldsOf<FusedAttentionBackward> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  problem_fields(problem.attention, visit);
}

namespace ops {

inline std::int64_t value_size_of(const SparseAttention& problem) {
  return problem.value_size != 0 ? problem.value_size : problem.n;
}

/// Heads of keys and of values.
inline std::int64_t key_heads_of(const SparseAttention& problem) {
  return problem.key_heads != 0 ? problem.key_heads : problem.batch;
}

/// Heads of queries that read one head of keys. The problem was found valid.
inline std::int64_t group_of(const SparseAttention& problem) {
  return problem.batch > 0 ? problem.batch / key_heads_of(problem) : 1;
}

/// How each operand [heads, rows, size] lies.
struct AttentionMatrices {
  StoredMatrix query, key, value, output;
};
AttentionMatrices attention_matrices(const SparseAttention& problem, const TopologyStatistics& mask);

/// The factor of the scores: `passed`, or 1 / sqrt(size of a key) if that is 0.
float attention_scale(std::int64_t key_size, float passed);

/// Of either pass. Sizes, leading dimensions, strides and the index are filled in.
template <class Problem>
struct AttentionQueryOf : Query {
  Problem problem;

  const SparseAttention& attention() const { return problem.attention; }
};
using AttentionQuery = AttentionQueryOf<FusedAttention>;
using AttentionBackwardQuery = AttentionQueryOf<FusedAttentionBackward>;

/// The query of a problem that was found valid: FusedAttention or FusedAttentionBackward.
template <class Problem>
std::shared_ptr<AttentionQueryOf<Problem>> make_attention_query(const SparseAttention& problem,
                                                                const TopologyStatistics& statistics,
                                                                const device::Device* device);
inline std::shared_ptr<AttentionQuery> make_query(const SparseAttention& problem, const TopologyStatistics& statistics,
                                                  const device::Device* device) {
  return make_attention_query<FusedAttention>(problem, statistics, device);
}
inline std::shared_ptr<AttentionBackwardQuery> make_query(const SparseAttentionBackward& problem,
                                                          const TopologyStatistics& statistics,
                                                          const device::Device* device) {
  return make_attention_query<FusedAttentionBackward>(problem.forward, statistics, device);
}

}  // namespace ops
}  // namespace vostok
