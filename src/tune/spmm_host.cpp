#include "tune/spmm_host.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "tune/case.hpp"
#include "tune/fill.hpp"

namespace vostok::tune {

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

void round_all(std::span<float> values, Dtype type) {
  if (type == Dtype::f32) return;
  for (float& value : values) value = sparse::round_to(type, value);
}

/// From the first element of the batch to past its last.
std::int64_t batch_extent(const ops::StoredMatrix& shape, std::int64_t batch) {
  return shape.extent() == 0 ? 0 : checked_multiply(batch - 1, shape.stride, "an operand's elements") + shape.extent();
}

}  // namespace

SpmmHost::SpmmHost(const Spmm& wanted, sparse::Csr matrix, std::uint64_t seed, float host_scale)
    : problem(wanted), walked(std::move(matrix)) {
  some("batch", problem.batch);
  problem.output = wanted.output.value_or(wanted.element);
  if (problem.batch > 1 && problem.values_per_batch)
    value_stride = problem.value_stride != 0 ? problem.value_stride : walked.nonzeros();
  finite_values = sparse::value_facts(problem.element, std::span<const double>(walked.values)).all_finite();
  values = sparse_values(walked, seed);
  if (problem.sparse_transposed) {
    sparse::Transposed transposed = sparse::transpose(walked);
    walked = std::move(transposed.csr);
    value_positions = std::move(transposed.value_positions);
  }
  dense_shape =
      ops::stored_matrix(problem.dense_layout, walked.cols, problem.n, problem.dense_leading, problem.dense_stride);
  output_shape =
      ops::stored_matrix(problem.output_layout, walked.rows, problem.n, problem.output_leading, problem.output_stride);
  dense = matrices(dense_shape, problem.element, seed + 1);
  const Epilogue& epilogue = problem.epilogue;
  if (epilogue.bias != Bias::none)
    bias.resize(static_cast<std::size_t>(epilogue.bias == Bias::per_row ? walked.rows : problem.n));
  fill_uniform(bias.data(), static_cast<std::int64_t>(bias.size()), seed + 2);
  round_all(bias, bias_type());
  if (epilogue.residual) residual = matrices(output_shape, *problem.output, seed + 3);
  if (epilogue.accumulate) output = matrices(output_shape, *problem.output, seed + 4);
  if (epilogue.scale != Scale::one) scale = host_scale;
}

std::vector<float> SpmmHost::sparse_values(const sparse::Csr& matrix, std::uint64_t seed) const {
  const std::int64_t sets = value_stride != 0 ? problem.batch : 1;
  if (matrix.nonzeros() == 0) return {};
  std::vector<float> all(static_cast<std::size_t>((sets - 1) * value_stride + matrix.nonzeros()), not_a_number);
  for (std::int64_t set = 0; set < sets; ++set) {
    const std::vector<float> random =
        sparse::normal_values(matrix.nonzeros(), seed + 5 * static_cast<std::uint64_t>(set));
    if (set == 0 && !matrix.values.empty())
      std::transform(matrix.values.begin(), matrix.values.end(), all.begin(), operand_value);
    else std::copy(random.begin(), random.end(), all.begin() + set * value_stride);
  }
  round_all(all, problem.element);
  return all;
}

std::vector<float> SpmmHost::matrices(const ops::StoredMatrix& shape, Dtype type, std::uint64_t seed) const {
  std::vector<float> all(static_cast<std::size_t>(batch_extent(shape, problem.batch)));
  fill_uniform(all.data(), static_cast<std::int64_t>(all.size()), seed);
  round_all(all, type);
  const auto spoil = [&](std::int64_t from, std::int64_t to) {
    const auto end = std::min(to, static_cast<std::int64_t>(all.size()));
    if (from < end) std::fill(all.begin() + from, all.begin() + end, not_a_number);
  };
  for (std::int64_t product = 0; product < problem.batch; ++product) {
    const std::int64_t first = product * shape.stride;
    if (shape.leading > shape.length)
      for (std::int64_t line = 0; line < shape.lines; ++line)
        spoil(first + line * shape.leading + shape.length, first + std::min((line + 1) * shape.leading, shape.stride));
    spoil(first + shape.extent(), first + shape.stride);
  }
  return all;
}

std::vector<float> SpmmHost::gather(std::span<const float> stored, const ops::StoredMatrix& shape, Layout layout,
                                    std::int64_t rows, std::int64_t product,
                                    std::span<const std::int64_t> columns) const {
  const std::int64_t row_step = layout == Layout::row_major ? shape.leading : 1;
  const std::int64_t column_step = layout == Layout::row_major ? 1 : shape.leading;
  std::vector<float> gathered;
  gathered.reserve(static_cast<std::size_t>(rows) * columns.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (const std::int64_t column : columns)
      gathered.push_back(
          stored[static_cast<std::size_t>(product * shape.stride + row * row_step + column * column_step)]);
  return gathered;
}

std::vector<float> SpmmHost::columns_of(std::span<const float> stored, std::int64_t product,
                                        std::span<const std::int64_t> columns) const {
  return gather(stored, output_shape, problem.output_layout, walked.rows, product, columns);
}

bool SpmmHost::row_is_finite(std::int64_t product, std::int64_t row) const {
  const auto begin = static_cast<std::size_t>(walked.row_offsets[static_cast<std::size_t>(row)]);
  const auto end = static_cast<std::size_t>(walked.row_offsets[static_cast<std::size_t>(row) + 1]);
  const auto set = static_cast<std::size_t>(product * value_stride);
  for (std::size_t i = begin; i < end; ++i)
    if (!std::isfinite(values[set + (value_positions.empty() ? i : static_cast<std::size_t>(value_positions[i]))]))
      return false;
  return true;
}

std::vector<double> SpmmHost::reference(std::int64_t product, std::span<const std::int64_t> columns) const {
  const auto width = static_cast<std::int64_t>(columns.size());
  const auto nonzeros = static_cast<std::size_t>(walked.nonzeros());
  const std::span<const float> in_order_of_a =
      std::span<const float>(values).subspan(static_cast<std::size_t>(product * value_stride), nonzeros);
  std::vector<float> ordered(in_order_of_a.begin(), in_order_of_a.end());
  for (std::size_t i = 0; i < value_positions.size(); ++i)
    ordered[i] = in_order_of_a[static_cast<std::size_t>(value_positions[i])];
  const std::vector<float> gathered = gather(dense, dense_shape, problem.dense_layout, walked.cols, product, columns);
  std::vector<double> result = sparse::spmm(walked, ordered, gathered, width, width);

  const Epilogue& epilogue = problem.epilogue;
  std::vector<float> added_bias = bias;
  if (epilogue.bias == Bias::per_column) {
    added_bias.clear();
    for (const std::int64_t column : columns) added_bias.push_back(bias[static_cast<std::size_t>(column)]);
  }
  const std::vector<float> added_residual =
      epilogue.residual ? columns_of(residual, product, columns) : std::vector<float>();
  const std::vector<float> previous = epilogue.accumulate ? columns_of(output, product, columns) : std::vector<float>();
  sparse::apply_epilogue(result, walked.rows, width, epilogue,
                         {.scale = scale, .bias = added_bias, .residual = added_residual, .previous = previous});
  return result;
}

}  // namespace vostok::tune
