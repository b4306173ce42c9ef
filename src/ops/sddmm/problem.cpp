#include "ops/sddmm/problem.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/resolved_query.hpp"

namespace vostok::ops {

namespace {

static_assert(lists_every_problem_field<Sddmm>(), "problem_fields must name every member of Sddmm");

constexpr const char* object = "SDDMM";

struct OperandFields {
  const char* leading;
  const char* stride;
  const char* bytes;
};

/// Checks leading dimension, stride and bytes of a dense operand, [rows, problem.n].
void require_matrix(const Sddmm& problem, Layout layout, std::int64_t rows, std::int64_t leading, std::int64_t stride,
                    const OperandFields& field) {
  const StoredMatrix packed = stored_matrix(layout, rows, problem.n, 0, 0);
  require_stride(object, field.leading, leading, packed.length);
  checked_multiply(packed.lines, std::max(leading, packed.length), field.bytes);
  const StoredMatrix stored = stored_matrix(layout, rows, problem.n, leading, stride);
  require_stride(object, field.stride, stride, least_stride(stored, problem.batch));
  checked_multiply(checked_multiply(problem.batch, std::max(stored.stride, stored.extent()), field.bytes),
                   size_of(problem.element), field.bytes);
}

void require_nonzeros(const Sddmm& problem, const TopologyStatistics& statistics, std::int64_t stride,
                      const char* field) {
  require_stride(object, field, stride, statistics.nonzeros);
  checked_multiply(checked_multiply(problem.batch, std::max(stride, statistics.nonzeros), field), 4, field);
}

void write_packed_as_zero(Layout layout, std::int64_t rows, std::int64_t n, std::int64_t& leading,
                          std::int64_t& stride) {
  if (leading == stored_matrix(layout, rows, n, 0, 0).leading) leading = 0;
  if (stride == stored_matrix(layout, rows, n, leading, 0).stride) stride = 0;
}

/// Strides that are packed or unused become 0, so that equal problems have equal keys.
Sddmm resolve(const Sddmm& problem, const TopologyStatistics& statistics) {
  Sddmm resolved = problem;
  resolved.output = problem.output.value_or(problem.element);
  resolved.index = resolve_index(object, problem.index, statistics.cols);
  if (problem.batch == 1)
    resolved.lhs_stride = resolved.rhs_stride = resolved.output_stride = resolved.multiplier_stride = 0;
  if (!problem.multiply) resolved.multiplier_stride = 0;
  if (resolved.output_stride == statistics.nonzeros) resolved.output_stride = 0;
  write_packed_as_zero(problem.lhs_layout, statistics.rows, problem.n, resolved.lhs_leading, resolved.lhs_stride);
  write_packed_as_zero(problem.rhs_layout, statistics.cols, problem.n, resolved.rhs_leading, resolved.rhs_stride);
  return resolved;
}

}  // namespace

void validate(const Sddmm& problem, const TopologyStatistics& statistics) {
  require_enumerators(object, problem);
  require_at_least(object, "n", problem.n, 0);
  require_at_least(object, "batch", problem.batch, 0);
  require_alignment(object, problem.alignment_bytes, problem.element);
  const Dtype output = problem.output.value_or(problem.element);
  if (output != problem.element && output != Dtype::f32)
    refuse(object, "output", name(output), "f32 and the element type");
  resolve_index(object, problem.index, statistics.cols);
  require_matrix(problem, problem.lhs_layout, statistics.rows, problem.lhs_leading, problem.lhs_stride,
                 {.leading = "lhs_leading", .stride = "lhs_stride", .bytes = "the bytes of A"});
  require_matrix(problem, problem.rhs_layout, statistics.cols, problem.rhs_leading, problem.rhs_stride,
                 {.leading = "rhs_leading", .stride = "rhs_stride", .bytes = "the bytes of B"});
  require_nonzeros(problem, statistics, problem.output_stride, "output_stride");
  require_nonzeros(problem, statistics, problem.multiplier_stride, "multiplier_stride");
}

std::shared_ptr<SddmmQuery> make_query(const Sddmm& problem, const TopologyStatistics& statistics, const SizeRange& n,
                                       const device::Device* device) {
  return resolved_query<SddmmQuery>("sddmm", resolve(problem, statistics), statistics, n, device);
}

}  // namespace vostok::ops
