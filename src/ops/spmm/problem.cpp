#include "ops/spmm/problem.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "ops/resolved_query.hpp"

namespace vostok::ops {

namespace {

static_assert(lists_every_problem_field<Spmm>(), "problem_fields must name every member of Spmm");

constexpr const char* object = "SpMM";

/// Checks leading dimension, stride and bytes of a dense operand.
void require_matrix(const char* matrix, Layout layout, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                    std::int64_t stride, const Spmm& problem, Dtype type) {
  const std::int64_t lines = layout == Layout::row_major ? rows : columns;
  const std::int64_t length = layout == Layout::row_major ? columns : rows;
  require_stride(object, (std::string(matrix) + "_leading").c_str(), leading, length);
  const std::string what = "the " + std::string(matrix) + " operand's bytes";
  const std::int64_t extent = checked_multiply(lines, std::max(leading, length), what.c_str());
  const StoredMatrix stored = stored_matrix(layout, rows, columns, leading, stride);
  require_stride(object, (std::string(matrix) + "_stride").c_str(), stride, least_stride(stored, problem.batch));
  checked_multiply(checked_multiply(problem.batch, std::max(stride, extent), what.c_str()), size_of(type),
                   what.c_str());
}

std::int64_t packed_as_zero(std::int64_t value, std::int64_t packed) { return value == packed ? 0 : value; }

/// Strides that a single product does not need, and leading dimensions and strides that equal the packed ones, become
/// 0, so that equal problems have equal keys. With several n, fields that depend on n stay as given.
Spmm resolve(const Spmm& problem, const TopologyStatistics& statistics, const SizeRange& n) {
  Spmm resolved = problem;
  resolved.n = n.most;
  resolved.n_values.clear();
  resolved.output = problem.output.value_or(problem.element);
  resolved.index = resolve_index(object, problem.index, statistics.cols);
  resolved.epilogue.bias_element =
      resolve_bias_element(problem.epilogue.bias != Bias::none, problem.epilogue.bias_element);
  resolved.values_per_batch = problem.values_per_batch && problem.batch > 1;
  resolved.value_stride = 0;
  if (resolved.values_per_batch)
    resolved.value_stride = problem.value_lifetime == ValueLifetime::persistent
                                ? persistent_value_stride(statistics.nonzeros)
                                : packed_as_zero(problem.value_stride, statistics.nonzeros);
  if (problem.batch == 1) resolved.dense_stride = resolved.output_stride = 0;

  const bool one_size = problem.n_values.empty();
  const auto normalise = [&](Layout layout, std::int64_t rows, std::int64_t& leading, std::int64_t& stride) {
    if (one_size || layout == Layout::column_major)
      leading = packed_as_zero(leading, stored_matrix(layout, rows, n.most, 0, 0).length);
    if (one_size) stride = packed_as_zero(stride, stored_matrix(layout, rows, n.most, leading, 0).stride);
  };
  normalise(problem.dense_layout, statistics.cols, resolved.dense_leading, resolved.dense_stride);
  normalise(problem.output_layout, statistics.rows, resolved.output_leading, resolved.output_stride);
  return resolved;
}

}  // namespace

void validate(const Spmm& problem, const TopologyStatistics& statistics) {
  require_enumerators(object, problem);
  require_at_least(object, "n", problem.n, 0);
  for (std::size_t i = 0; i < problem.n_values.size(); ++i)
    require_at_least(object, fmt::format("n_values[{}]", i).c_str(), problem.n_values[i], 0);
  require_at_least(object, "batch", problem.batch, 0);
  require_alignment(object, problem.alignment_bytes, problem.element);
  require_bias_element(object, "epilogue.bias_element", problem.epilogue.bias_element, problem.element);

  const bool transposed = problem.sparse_transposed;
  const std::int64_t output_rows = transposed ? statistics.cols : statistics.rows;
  const std::int64_t dense_rows = transposed ? statistics.rows : statistics.cols;
  const std::int64_t n_most = largest_size(problem);
  resolve_index(object, problem.index, dense_rows);
  require_stride(object, "value_stride", problem.value_stride, statistics.nonzeros);
  const std::int64_t sets = problem.values_per_batch ? problem.batch : 1;
  checked_multiply(checked_multiply(sets, std::max(problem.value_stride, persistent_value_stride(statistics.nonzeros)),
                                    "the values' elements"),
                   size_of(problem.element), "the values' bytes");
  require_matrix("dense", problem.dense_layout, dense_rows, n_most, problem.dense_leading, problem.dense_stride,
                 problem, problem.element);
  require_matrix("output", problem.output_layout, output_rows, n_most, problem.output_leading, problem.output_stride,
                 problem, problem.output.value_or(problem.element));
}

std::shared_ptr<SpmmQuery> make_query(const Spmm& problem, const TopologyStatistics& statistics, const SizeRange& n,
                                      const device::Device* device) {
  return resolved_query<SpmmQuery>("spmm", resolve(problem, statistics, n), statistics, n, device);
}

std::int64_t largest_size(const Spmm& problem) {
  return problem.n_values.empty() ? problem.n : *std::max_element(problem.n_values.begin(), problem.n_values.end());
}

std::vector<SizeRange> size_ranges(const Spmm& problem) {
  if (problem.n_values.empty())
    return problem.n == 0 ? std::vector<SizeRange>() : std::vector<SizeRange>{{problem.n, problem.n, 1}};
  std::vector<std::int64_t> sizes = problem.n_values;
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<SizeRange> ranges;
  std::int64_t least = 1;
  for (const std::int64_t size : sizes) {
    if (size == 0) continue;
    const std::int64_t vector = 16 / size_of(problem.element);  // elements of the widest load
    const SizeRange aligned = {round_up(least, vector), size / vector * vector, vector};
    if (aligned.least <= aligned.most && least < size) ranges.push_back(aligned);
    ranges.push_back({least, size, 1});
    least = size + 1;
  }
  return ranges;
}

}  // namespace vostok::ops
