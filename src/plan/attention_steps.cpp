#include "plan/attention_steps.hpp"

#include <cmath>

#include "base/checked.hpp"
#include "ops/stored_matrix.hpp"
#include "plan/attention_fields.hpp"
#include "plan/plan_state.hpp"

namespace vostok::plan {

namespace {

/// Leading dimensions and strides of one operand [batch, rows, width].
void require_layout(const char* object, const char* leading_field, std::int64_t leading, const char* stride_field, std::int64_t stride,
                    std::int64_t rows, std::int64_t width, std::int64_t batch) {
  ops::require_stride(object, leading_field, leading, width);
  const ops::StoredMatrix heads = ops::stored_matrix(Layout::row_major, rows, width, leading, stride);
  ops::require_stride(object, stride_field, stride, ops::least_stride(heads, batch));
}

}  // namespace

void validate_attention(const char* object, const SparseAttention& problem, const TopologyStatistics& mask) {
  ops::require_enumerators(object, problem);
  ops::require_at_least(object, "n", problem.n, 0);
  ops::require_at_least(object, "value_size", problem.value_size, 0);
  ops::require_at_least(object, "batch", problem.batch, 0);
  ops::require_alignment(object, problem.alignment_bytes, problem.element);
  const std::int64_t value_size = problem.value_size != 0 ? problem.value_size : problem.n;
  require_layout(object, "query_leading", problem.query_leading, "query_stride", problem.query_stride, mask.rows, problem.n, problem.batch);
  require_layout(object, "key_leading", problem.key_leading, "key_stride", problem.key_stride, mask.cols, problem.n, problem.batch);
  require_layout(object, "value_leading", problem.value_leading, "value_stride", problem.value_stride, mask.cols, value_size, problem.batch);
  require_layout(object, "output_leading", problem.output_leading, "output_stride", problem.output_stride, mask.rows, value_size, problem.batch);
}

Operand saved_operand(const SparseAttention& problem, std::int64_t saved_bytes, bool written) {
  return {.name = "saved",
          .wanted = problem.saved == Saved::none ? Wanted::unasked : needed_if(saved_bytes > 0),
          .alignment_bytes = workspace_alignment_bytes,
          .region = plain_region(saved_bytes),
          .written = written,
          .asked_by = "saved"};
}

AttentionSteps::AttentionSteps(const SparseAttention& problem, const TopologyStatistics& mask)
    : problem_(problem),
      mask_(mask),
      value_size_(problem.value_size != 0 ? problem.value_size : problem.n),
      score_stride_(round_up(mask.nonzeros, 16 / size_of(Dtype::f16))) {}

Sddmm AttentionSteps::sddmm() const {
  return {.batch = problem_.batch,
          .element = problem_.element,
          .index = problem_.index,
          .output_stride = score_stride_,
          .alignment_bytes = problem_.alignment_bytes,
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
  return {.batch = problem_.batch,
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
          .batch = problem_.batch,
          .values_per_batch = true,
          .element = problem_.element,
          .index = problem_.index,
          .value_stride = score_stride_,
          .alignment_bytes = problem_.alignment_bytes,
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
  return {.batch = problem_.batch,
          .element = problem_.element,
          .probability_stride = score_stride_,
          .output_gradient_stride = score_stride_,
          .input_gradient_stride = score_stride_,
          .deterministic = problem_.deterministic,
          .scale = Scale::host};
}

Spmm AttentionSteps::value_gradient() const {
  Spmm problem = spmm(value_size_);
  problem.sparse_transposed = true;
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

Spmm AttentionSteps::key_gradient() const {
  Spmm problem = spmm(problem_.n);
  problem.sparse_transposed = true;
  problem.dense_leading = problem_.query_leading;
  problem.dense_stride = problem_.query_stride;
  problem.output_leading = problem_.key_leading;
  problem.output_stride = problem_.key_stride;
  return problem;
}

AttentionRegions AttentionSteps::regions() const {
  const auto region = [&](std::int64_t rows, std::int64_t width, std::int64_t leading, std::int64_t stride) {
    return matrix_region(ops::stored_matrix(Layout::row_major, rows, width, leading, stride), problem_.element, problem_.batch);
  };
  return {.query = region(mask_.rows, problem_.n, problem_.query_leading, problem_.query_stride),
          .key = region(mask_.cols, problem_.n, problem_.key_leading, problem_.key_stride),
          .value = region(mask_.cols, value_size_, problem_.value_leading, problem_.value_stride),
          .output = region(mask_.rows, value_size_, problem_.output_leading, problem_.output_stride)};
}

std::int64_t AttentionSteps::bytes(Dtype type) const {
  return checked_multiply(checked_multiply(problem_.batch, score_stride_, "the scores' elements"), size_of(type), "the scores' bytes");
}

std::int64_t AttentionSteps::saved_bytes() const {
  switch (problem_.saved) {
    case Saved::none: return 0;
    case Saved::probabilities: return bytes(problem_.element);
    case Saved::row_statistics:
      return checked_multiply(checked_multiply(problem_.batch, mask_.rows, "the statistics' rows"), sizeof(float), "the statistics' bytes");
  }
  return 0;
}

float attention_scale(const SparseAttention& problem, float passed) {
  if (passed != 0) return passed;
  return problem.n > 0 ? 1.0F / std::sqrt(static_cast<float>(problem.n)) : 1.0F;  // without sizes every score is 0
}

std::int64_t Carving::take(std::int64_t bytes) {
  const std::int64_t offset = bytes_;
  bytes_ += round_up(bytes, workspace_alignment_bytes);
  return offset;
}

}  // namespace vostok::plan
