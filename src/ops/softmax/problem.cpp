#include "ops/softmax/problem.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "ops/resolved_query.hpp"

namespace vostok::ops {

namespace {

static_assert(lists_every_problem_field<Softmax>(), "problem_fields must name every member of Softmax");
static_assert(lists_every_problem_field<SoftmaxBackward>(), "problem_fields must name every member of SoftmaxBackward");

template <class P>
Dtype widest_type(const P& problem) {
  const Dtype output = problem.output.value_or(problem.element);
  return size_of(output) > size_of(problem.element) ? output : problem.element;
}

/// What both problems have in common.
template <class P>
void validate_common(const char* object, const P& problem) {
  require_enumerators(object, problem);
  require_at_least(object, "batch", problem.batch, 0);
  require_alignment(object, problem.alignment_bytes, widest_type(problem));
}

template <class P>
void validate_stride(const char* object, const char* field, const P& problem, std::int64_t stride,
                     std::int64_t nonzeros) {
  require_stride(object, field, stride, nonzeros);
  checked_multiply(checked_multiply(problem.batch, std::max(stride, nonzeros), field), size_of(widest_type(problem)),
                   field);
}

/// The stride, or 0 if it is packed or there is only one matrix.
std::int64_t resolved_stride(std::int64_t stride, std::int64_t batch, std::int64_t nonzeros) {
  return batch == 1 || stride == nonzeros ? 0 : stride;
}

}  // namespace

void validate(const Softmax& problem, const TopologyStatistics& statistics) {
  constexpr const char* object = "softmax";
  validate_common(object, problem);
  checked_multiply(checked_multiply(problem.batch, statistics.rows, "row_statistics"), sizeof(float),
                   "the bytes of row_statistics");
  validate_stride(object, "value_stride", problem, problem.value_stride, statistics.nonzeros);
  validate_stride(object, "output_stride", problem, problem.output_stride, statistics.nonzeros);
}

void validate(const SoftmaxBackward& problem, const TopologyStatistics& statistics) {
  constexpr const char* object = "softmax_backward";
  validate_common(object, problem);
  validate_stride(object, "probability_stride", problem, problem.probability_stride, statistics.nonzeros);
  validate_stride(object, "output_gradient_stride", problem, problem.output_gradient_stride, statistics.nonzeros);
  validate_stride(object, "input_gradient_stride", problem, problem.input_gradient_stride, statistics.nonzeros);
}

std::shared_ptr<SoftmaxQuery> make_query(const Softmax& problem, const TopologyStatistics& statistics,
                                         const SizeRange& n, const device::Device* device) {
  Softmax resolved = problem;
  resolved.output = problem.output.value_or(problem.element);
  resolved.value_stride = resolved_stride(problem.value_stride, problem.batch, statistics.nonzeros);
  resolved.output_stride = resolved_stride(problem.output_stride, problem.batch, statistics.nonzeros);
  return resolved_query<SoftmaxQuery>("softmax", resolved, statistics, n, device);
}

std::shared_ptr<SoftmaxBackwardQuery> make_query(const SoftmaxBackward& problem, const TopologyStatistics& statistics,
                                                 const SizeRange& n, const device::Device* device) {
  SoftmaxBackward resolved = problem;
  resolved.output = problem.output.value_or(problem.element);
  resolved.probability_stride = resolved_stride(problem.probability_stride, problem.batch, statistics.nonzeros);
  resolved.output_gradient_stride = resolved_stride(problem.output_gradient_stride, problem.batch, statistics.nonzeros);
  resolved.input_gradient_stride = resolved_stride(problem.input_gradient_stride, problem.batch, statistics.nonzeros);
  return resolved_query<SoftmaxBackwardQuery>("softmax_backward", resolved, statistics, n, device);
}

}  // namespace vostok::ops
