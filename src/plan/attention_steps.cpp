#include "plan/attention_steps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/checked.hpp"
#include "ops/attention/problem.hpp"
#include "plan/plan_state.hpp"

namespace vostok::plan {

namespace {

/// Checks the leading dimension and stride of one operand [batch, rows, width].
void require_layout(const char* object, const char* leading_field, std::int64_t leading, const char* stride_field,
                    std::int64_t stride, std::int64_t rows, std::int64_t width, std::int64_t batch) {
  ops::require_stride(object, leading_field, leading, width);
  const ops::StoredMatrix heads = ops::stored_matrix(Layout::row_major, rows, width, leading, stride);
  ops::require_stride(object, stride_field, stride, ops::least_stride(heads, batch));
}

/// More at a time save little: of 6.7 million elements a head four of eight took 3 % longer than all in f32. Fewer cost
/// more: two 9 %, one 19 % (bench/notes/models.md#heads-at-a-time).
constexpr std::int64_t most_probability_bytes = std::int64_t{128} << 20;

/// Elements between the scores of two heads.
std::int64_t score_stride(const TopologyStatistics& mask) { return round_up(mask.nonzeros, 16 / size_of(Dtype::f16)); }

HeadStrides operand_strides(const SparseAttention& problem, const TopologyStatistics& mask) {
  const ops::AttentionMatrices heads = ops::attention_matrices(problem, mask);
  const auto bytes = [&](const ops::StoredMatrix& one) {
    return checked_multiply(one.stride, size_of(problem.element), "a head's bytes");
  };
  return {
      .query = bytes(heads.query), .key = bytes(heads.key), .value = bytes(heads.value), .output = bytes(heads.output)};
}

/// The strides of all operands, or'ed: a power of two that divides each divides this.
std::int64_t joined_strides(const SparseAttention& problem, const TopologyStatistics& mask) {
  const HeadStrides strides = operand_strides(problem, mask);
  return strides.query | strides.key | strides.value | strides.output;
}

/// Whether every operand is still aligned as declared after this many heads, given that it is at the first.
bool stays_aligned(const SparseAttention& problem, const TopologyStatistics& mask, std::int64_t heads) {
  return heads % problem.alignment_bytes * (joined_strides(problem, mask) % problem.alignment_bytes) %
             problem.alignment_bytes ==
         0;
}

/// The declared alignment, or what is left of it at every head where heads share keys: these are computed one at a
/// time, whatever their strides.
int step_alignment(const SparseAttention& problem, const TopologyStatistics& mask) {
  if (ops::group_of(problem) == 1) return problem.alignment_bytes;
  return static_cast<int>(std::gcd(joined_strides(problem, mask), static_cast<std::int64_t>(problem.alignment_bytes)));
}

/// Checks that sizes over all heads fit in 64 bits; the steps themselves are planned for a group of heads.
void require_countable(const SparseAttention& problem, const TopologyStatistics& mask) {
  const HeadStrides strides = operand_strides(problem, mask);
  const std::int64_t scores = checked_multiply(score_stride(mask), size_of(Dtype::f32), "a head's scores");
  for (const std::int64_t bytes : {strides.query, strides.key, strides.value, strides.output, scores})
    checked_multiply(problem.batch, bytes, "the bytes of all heads");
}

void require_heads_at_once(const char* object, const SparseAttention& problem, const TopologyStatistics& mask) {
  const std::int64_t heads = problem.heads_at_once;
  if (heads == 0) return;
  if (heads < 0 || problem.batch % heads != 0)
    fail(ErrorCode::invalid_argument, "cannot plan {}: heads_at_once = {} is no divisor of batch = {}", object, heads,
         problem.batch);
  if (ops::group_of(problem) > 1) {
    if (heads == 1) return;
    fail(ErrorCode::invalid_argument,
         "cannot plan {}: heads_at_once = {}: heads that share keys (key_heads = {} of batch = {}) are composed one by "
         "one",
         object, heads, problem.key_heads, problem.batch);
  }
  if (!stays_aligned(problem, mask, heads))
    fail(ErrorCode::invalid_argument,
         "cannot plan {}: heads_at_once = {}: behind so many heads operands are not aligned to alignment_bytes = {}",
         object, heads, problem.alignment_bytes);
}

void require_key_heads(const char* object, const SparseAttention& problem) {
  ops::require_at_least(object, "key_heads", problem.key_heads, 0);
  if (problem.key_heads > problem.batch || (problem.key_heads > 0 && problem.batch % problem.key_heads != 0))
    fail(ErrorCode::invalid_argument, "cannot plan {}: key_heads = {} is no divisor of batch = {}", object,
         problem.key_heads, problem.batch);
}

void require_bias_stride(const char* object, const SparseAttention& problem, const TopologyStatistics& mask) {
  if (problem.bias_stride == 0) return;
  if (!problem.biased)
    fail(ErrorCode::invalid_argument, "cannot plan {}: bias_stride = {}, and the problem is not biased", object,
         problem.bias_stride);
  ops::require_at_least(object, "bias_stride", problem.bias_stride, mask.nonzeros);
  checked_multiply(problem.batch, checked_multiply(problem.bias_stride, size_of(problem.element), "a head's biases"),
                   "the biases of all heads");
}

}  // namespace

const char* beyond_composition(const SparseAttention& problem) {
  if (problem.capped) return "capped";
  if (problem.causal) return "causal";
  if (problem.biased) return "biased";
  return problem.dropped ? "dropped" : nullptr;
}

void require_composable(const char* object, const SparseAttention& problem) {
  if (const char* field = beyond_composition(problem))
    ops::refuse(object, field, "true", "one kernel, and no composition");
}

std::int64_t heads_at_once(const SparseAttention& problem, const TopologyStatistics& mask) {
  if (problem.heads_at_once != 0) return problem.heads_at_once;
  if (ops::group_of(problem) > 1) return 1;
  constexpr std::int64_t most_tried = 4096;  // a batch may be any number, and have no small divisor
  const std::int64_t bytes_of_head = std::max<std::int64_t>(score_stride(mask) * size_of(problem.element), 1);
  const std::int64_t wanted = std::max<std::int64_t>(most_probability_bytes / bytes_of_head, 1);
  const std::int64_t fewest_parts = std::max<std::int64_t>(ceil_div(problem.batch, wanted), 1);
  const auto suits = [&](std::int64_t parts) {
    return problem.batch % parts == 0 && stays_aligned(problem, mask, problem.batch / parts);
  };
  for (std::int64_t parts = fewest_parts; parts <= problem.batch && parts < fewest_parts + most_tried; ++parts)
    if (suits(parts)) return problem.batch / parts;
  for (std::int64_t parts = std::min(fewest_parts, most_tried); parts > 1;
       --parts)  // rather more heads at a time than misaligned ones
    if (suits(parts)) return problem.batch / parts;
  return problem.batch;
}

bool groups_start_aligned(const SparseAttention& problem, const TopologyStatistics& mask, std::int64_t heads) {
  const std::int64_t saved = AttentionSteps(problem, mask, heads).strides().saved;
  return stays_aligned(problem, mask, heads / ops::group_of(problem)) && heads * saved % workspace_alignment_bytes == 0;
}

void validate_attention(const char* object, const SparseAttention& problem, const TopologyStatistics& mask) {
  ops::require_enumerators(object, problem);
  ops::require_at_least(object, "n", problem.n, 0);
  ops::require_at_least(object, "value_size", problem.value_size, 0);
  ops::require_at_least(object, "batch", problem.batch, 0);
  require_key_heads(object, problem);
  ops::require_alignment(object, problem.alignment_bytes, problem.element);
  const std::int64_t value_size = ops::value_size_of(problem), key_heads = ops::key_heads_of(problem);
  require_layout(object, "query_leading", problem.query_leading, "query_stride", problem.query_stride, mask.rows,
                 problem.n, problem.batch);
  require_layout(object, "key_leading", problem.key_leading, "key_stride", problem.key_stride, mask.cols, problem.n,
                 key_heads);
  require_layout(object, "value_leading", problem.value_leading, "value_stride", problem.value_stride, mask.cols,
                 value_size, key_heads);
  require_layout(object, "output_leading", problem.output_leading, "output_stride", problem.output_stride, mask.rows,
                 value_size, problem.batch);
  require_countable(problem, mask);
  require_heads_at_once(object, problem, mask);
  require_bias_stride(object, problem, mask);
}

void require_softcap(const char* object, const SparseAttention& problem, float softcap) {
  if (!problem.capped && softcap != 0)
    fail(ErrorCode::invalid_argument, "cannot execute {}: softcap = {}, and the problem is not capped", object,
         softcap);
  const bool caps = softcap > 0 && std::isfinite(softcap);
  if (problem.capped && !caps)
    fail(ErrorCode::invalid_argument, "cannot execute {}: softcap = {} is not positive and finite", object, softcap);
}

void require_dropout(const char* object, const SparseAttention& problem, float dropout) {
  if (!problem.dropped && dropout != 0)
    fail(ErrorCode::invalid_argument, "cannot execute {}: dropout = {}, and the problem is not dropped", object,
         dropout);
  const bool drops = dropout > 0 && dropout < 1;
  if (problem.dropped && !drops)
    fail(ErrorCode::invalid_argument, "cannot execute {}: dropout = {} is not between 0 and 1", object, dropout);
}

AttentionSteps::AttentionSteps(const SparseAttention& problem, const TopologyStatistics& mask, std::int64_t heads)
    : problem_(problem),
      mask_(mask),
      heads_(heads),
      value_size_(ops::value_size_of(problem)),
      score_stride_(score_stride(mask)),
      alignment_bytes_(step_alignment(problem, mask)) {}

Sddmm AttentionSteps::sddmm() const {
  return {.batch = heads_,
          .element = problem_.element,
          .index = problem_.index,
          .output_stride = score_stride_,
          .alignment_bytes = alignment_bytes_,
          .math = problem_.math,
          .deterministic = problem_.deterministic,
          .nonfinite = problem_.nonfinite};
}

Sddmm AttentionSteps::scores() const {
  Sddmm problem = sddmm();
  problem.n = problem_.n;
  problem.output = Dtype::f32;
  problem.lhs_leading = problem_.query_leading;
  problem.lhs_stride = problem_.query_stride;
  problem.rhs_leading = problem_.key_leading;
  problem.rhs_stride = problem_.key_stride;
  return problem;
}

Softmax AttentionSteps::probabilities(RowStatistics statistics) const {
  return {.batch = heads_,
          .element = Dtype::f32,
          .output = problem_.element,
          .value_stride = score_stride_,
          .output_stride = score_stride_,
          .deterministic = problem_.deterministic,
          .scale = Scale::host,
          .statistics = statistics};
}

Spmm AttentionSteps::spmm(std::int64_t n) const {
  return {.n = n,
          .batch = heads_,
          .values_per_batch = true,
          .element = problem_.element,
          .index = problem_.index,
          .value_stride = score_stride_,
          .alignment_bytes = alignment_bytes_,
          .math = problem_.math,
          .deterministic = problem_.deterministic,
          .nonfinite = problem_.nonfinite};
}

Spmm AttentionSteps::product() const {
  Spmm problem = spmm(value_size_);
  problem.dense_leading = problem_.value_leading;
  problem.dense_stride = problem_.value_stride;
  problem.output_leading = problem_.output_leading;
  problem.output_stride = problem_.output_stride;
  return problem;
}

Sddmm AttentionSteps::probability_gradient() const {
  Sddmm problem = sddmm();
  problem.n = value_size_;
  problem.lhs_leading = problem_.output_leading;
  problem.lhs_stride = problem_.output_stride;
  problem.rhs_leading = problem_.value_leading;
  problem.rhs_stride = problem_.value_stride;
  return problem;
}

SoftmaxBackward AttentionSteps::score_gradient() const {
  return {.batch = heads_,
          .element = problem_.element,
          .probability_stride = score_stride_,
          .output_gradient_stride = score_stride_,
          .input_gradient_stride = score_stride_,
          .deterministic = problem_.deterministic,
          .scale = Scale::host};
}

Spmm AttentionSteps::value_gradient(bool adds) const {
  Spmm problem = spmm(value_size_);
  problem.sparse_transposed = true;
  problem.epilogue.accumulate = adds;
  problem.dense_leading = problem_.output_leading;
  problem.dense_stride = problem_.output_stride;
  problem.output_leading = problem_.value_leading;
  problem.output_stride = problem_.value_stride;
  return problem;
}

Spmm AttentionSteps::query_gradient() const {
  Spmm problem = spmm(problem_.n);
  problem.dense_leading = problem_.key_leading;
  problem.dense_stride = problem_.key_stride;
  problem.output_leading = problem_.query_leading;
  problem.output_stride = problem_.query_stride;
  return problem;
}

Spmm AttentionSteps::key_gradient(bool adds) const {
  Spmm problem = spmm(problem_.n);
  problem.sparse_transposed = true;
  problem.epilogue.accumulate = adds;
  problem.dense_leading = problem_.query_leading;
  problem.dense_stride = problem_.query_stride;
  problem.output_leading = problem_.key_leading;
  problem.output_stride = problem_.key_stride;
  return problem;
}

AttentionRegions AttentionSteps::regions() const {
  const ops::AttentionMatrices heads = ops::attention_matrices(problem_, mask_);
  const auto region = [&](const ops::StoredMatrix& one, std::int64_t count) {
    return matrix_region(one, problem_.element, count);
  };
  const std::int64_t queries = problem_.batch, keys = ops::key_heads_of(problem_);
  return {.query = region(heads.query, queries),
          .key = region(heads.key, keys),
          .value = region(heads.value, keys),
          .output = region(heads.output, queries)};
}

HeadStrides AttentionSteps::strides() const {
  HeadStrides strides = operand_strides(problem_, mask_);
  if (problem_.saved == Saved::probabilities) strides.saved = bytes(1, problem_.element);
  if (problem_.saved == Saved::row_statistics) strides.saved = mask_.rows * size_of(Dtype::f32);
  return strides;
}

std::int64_t AttentionSteps::bytes(std::int64_t heads, Dtype type) const {
  return checked_multiply(checked_multiply(heads, score_stride_, "the scores' elements"), size_of(type),
                          "the scores' bytes");
}

std::int64_t AttentionSteps::saved_bytes() const {
  switch (problem_.saved) {
    case Saved::none: return 0;
    case Saved::probabilities: return bytes(problem_.batch, problem_.element);
    case Saved::row_statistics:
      return checked_multiply(checked_multiply(problem_.batch, mask_.rows, "the statistics' rows"), sizeof(float),
                              "the statistics' bytes");
  }
  return 0;
}

std::int64_t Carving::take(std::int64_t bytes) {
  const std::int64_t offset = bytes_;
  bytes_ += round_up(bytes, workspace_alignment_bytes);
  return offset;
}

}  // namespace vostok::plan
