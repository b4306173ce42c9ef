#include "tune/softmax_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "tune/fill.hpp"

namespace vostok::tune {

namespace {

/// Above this number of entries only a sample of rows is compared with a reference.
constexpr std::int64_t most_compared_entries = 20'000'000;
/// Spread of random x: wide enough that a few of some hundred entries dominate a row.
constexpr float spread = 3;

std::int64_t stride_of(std::int64_t stride, const sparse::Csr& matrix) {
  return stride != 0 ? stride : matrix.nonzeros();
}

/// Makes `batch` sets of values, `stride` apart, rounded to the type. Gaps are NaN; nothing follows the last set.
std::vector<float> make_values(const sparse::Csr& matrix, Dtype type, std::int64_t batch, std::int64_t stride,
                               std::uint64_t seed, float factor) {
  const std::int64_t count = checked_multiply(batch - 1, stride, "the values' size") + matrix.nonzeros();
  std::vector<float> values(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<float> set(matrix.values.size());
    std::transform(matrix.values.begin(), matrix.values.end(), set.begin(), operand_value);
    if (matrix.values.empty()) {
      set = sparse::normal_values(matrix.nonzeros(), seed + static_cast<std::uint64_t>(b));
      for (float& value : set) value *= factor;
    }
    std::transform(set.begin(), set.end(), values.begin() + b * stride,
                   [&](float value) { return sparse::round_to(type, value); });
  }
  return values;
}

/// The mask's entries as one line for each element of a batch.
ops::StoredMatrix entries_of(const sparse::Csr& matrix, std::int64_t stride) {
  return {.lines = 1, .length = matrix.nonzeros(), .leading = matrix.nonzeros(), .stride = stride};
}

Check compare(const sparse::SoftmaxReference& reference, Dtype type, const std::vector<float>& output,
              std::string wrong) {
  const auto count = static_cast<std::int64_t>(output.size());
  Check check{.error = sparse::relative_error(output, count, reference.values, 1, count),
              .tolerance = sparse::softmax_tolerance(reference, type),
              .wrong = std::move(wrong)};
  hold_to_tolerance(check);
  return check;
}

double five_for_each(const sparse::Csr& matrix, std::int64_t batch) {
  return 5.0 * static_cast<double>(matrix.nonzeros()) * static_cast<double>(batch);
}

}  // namespace

SampledRows SampledRows::of(const sparse::Csr& matrix, std::int64_t batch, std::uint64_t seed) {
  SampledRows sample;
  const auto add = [&](std::int64_t b, std::int64_t row) {
    const auto at = static_cast<std::size_t>(row);
    sample.rows.push_back({b, row});
    sample.offsets.push_back(sample.offsets.back() + matrix.row_offsets[at + 1] - matrix.row_offsets[at]);
  };
  if (matrix.nonzeros() * batch <= most_compared_entries) {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t row = 0; row < matrix.rows; ++row) add(b, row);
    return sample;
  }
  sparse::Random random(seed);
  add(batch - 1, matrix.rows - 1);
  while (sample.offsets.back() < most_compared_entries) add(random.below(batch), random.below(matrix.rows));
  return sample;
}

std::vector<float> SampledRows::gather(const sparse::Csr& matrix, const std::vector<float>& values,
                                       std::int64_t stride) const {
  std::vector<float> gathered;
  gathered.reserve(static_cast<std::size_t>(offsets.back()));
  for (const Row& row : rows) {
    const auto at = static_cast<std::size_t>(row.row);
    const auto begin = values.begin() + row.batch * stride;
    gathered.insert(gathered.end(), begin + matrix.row_offsets[at], begin + matrix.row_offsets[at + 1]);
  }
  return gathered;
}

SoftmaxCase::SoftmaxCase(device::Device& device, const Softmax& problem, sparse::Csr matrix, std::uint64_t seed,
                         float scale, bool in_place)
    : device_(device),
      problem_(problem),
      matrix_(std::move(matrix)),
      sample_(SampledRows::of(matrix_, some("batch", problem.batch), seed)),
      in_place_(in_place) {
  const float factor = problem.scale == Scale::one ? 1.0F : scale;
  const std::int64_t value_stride = stride_of(problem.value_stride, matrix_);
  const int alignment = problem.alignment_bytes;
  values_ = make_values(matrix_, problem.element, problem.batch, value_stride, seed, spread);
  const std::vector<float> compared = sample_.gather(matrix_, values_, value_stride);
  logarithms_ = sparse::log_sum_exp(sample_.offsets, compared, factor);
  reference_ = sparse::softmax(sample_.offsets, compared, factor);

  device_values_ = DeviceOperand(device, sparse::to_storage(problem.element, values_), alignment);
  device_scale_ = DeviceOperand(device, std::as_bytes(std::span(&factor, 1)), 16);
  output_stride_ = in_place ? value_stride : stride_of(problem.output_stride, matrix_);
  output_ = GuardedOutput(device, problem.output.value_or(problem.element), entries_of(matrix_, output_stride_),
                          problem.batch, shift_bytes(alignment));
  const ops::StoredMatrix rows = {.lines = problem.batch, .length = matrix_.rows, .leading = matrix_.rows};
  statistics_ = GuardedOutput(device, Dtype::f32, rows, 1);
  arguments_ = {
      .values = in_place ? output_.data() : device_values_.data(),
      .output = output_.data(),
      .row_statistics = problem.statistics == RowStatistics::write ? static_cast<float*>(statistics_.data()) : nullptr,
      .scale = problem.scale == Scale::host ? factor : 1.0F,
      .device_scale = problem.scale == Scale::device ? static_cast<const float*>(device_scale_.data()) : nullptr};
  if (problem.statistics == RowStatistics::read) {
    std::vector<float> all;
    for (std::int64_t b = 0; b < problem.batch; ++b) {
      const std::span<const float> set = std::span(values_).subspan(static_cast<std::size_t>(b * value_stride));
      for (const double logarithm : sparse::log_sum_exp(matrix_.row_offsets, set, factor))
        all.push_back(static_cast<float>(logarithm));
    }
    std::vector<float> rounded;
    rounded.reserve(sample_.rows.size());
    for (const SampledRows::Row& row : sample_.rows)
      rounded.push_back(all[static_cast<std::size_t>(row.batch * matrix_.rows + row.row)]);
    reference_ = sparse::softmax_from_statistics(sample_.offsets, compared, factor, rounded);
    device_statistics_ = DeviceOperand(device, std::as_bytes(std::span(all)), 16);
    arguments_.row_statistics = static_cast<float*>(device_statistics_.data());
  }
}

double SoftmaxCase::flops() const { return five_for_each(matrix_, problem_.batch); }

std::vector<CaseOperand> SoftmaxCase::operands() const {
  return {operand(&SoftmaxArguments::values, in_place_ ? output_.bytes() : device_values_.bytes()),
          operand(&SoftmaxArguments::output, output_.bytes())};
}

Check SoftmaxCase::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_.own_stream();
  output_.reset(stream, in_place_ ? std::span<const float>(values_) : std::span<const float>());
  statistics_.reset(stream);
  enqueue(stream);
  device_.synchronize(stream);
  const GuardedOutput::Contents output = output_.read();
  Check check = compare(reference_, problem_.output.value_or(problem_.element),
                        sample_.gather(matrix_, output.values, output_stride_), output.wrong);
  if (problem_.statistics == RowStatistics::write) compare_statistics(check);
  return check;
}

void SoftmaxCase::compare_statistics(Check& check) const {
  const GuardedOutput::Contents all = statistics_.read();
  if (!all.wrong.empty()) check.wrong = "in the statistics: " + all.wrong;
  for (std::size_t i = 0; i < sample_.rows.size(); ++i) {
    const float found =
        all.values[static_cast<std::size_t>(sample_.rows[i].batch * matrix_.rows + sample_.rows[i].row)];
    const auto wanted = static_cast<float>(logarithms_[i]);
    const bool same = std::isfinite(wanted) ? std::abs(found - wanted) <= 1e-6F * (1 + std::abs(wanted))
                                            : found == wanted || (std::isnan(found) && std::isnan(wanted));
    if (!same)
      check.wrong =
          fmt::format("the statistics of row {} are {}, and should be {}", sample_.rows[i].row, found, wanted);
  }
}

SoftmaxBackwardCase::SoftmaxBackwardCase(device::Device& device, const SoftmaxBackward& problem, sparse::Csr matrix,
                                         std::uint64_t seed, float scale, bool in_place)
    : device_(device),
      problem_(problem),
      matrix_(std::move(matrix)),
      sample_(SampledRows::of(matrix_, some("batch", problem.batch), seed)),
      in_place_(in_place) {
  const float factor = problem.scale == Scale::one ? 1.0F : scale;
  const std::int64_t probability_stride = stride_of(problem.probability_stride, matrix_);
  const std::int64_t gradient_stride = stride_of(problem.output_gradient_stride, matrix_);
  const int alignment = problem.alignment_bytes;
  sparse::Csr pattern = matrix_;
  pattern.values.clear();
  std::vector<float> probabilities = make_values(pattern, Dtype::f32, problem.batch, probability_stride, seed, spread);
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const std::span<float> set = std::span(probabilities).subspan(static_cast<std::size_t>(b * probability_stride));
    const sparse::SoftmaxReference forward = sparse::softmax(matrix_.row_offsets, set, 1);
    std::transform(forward.values.begin(), forward.values.end(), set.begin(),
                   [&](double value) { return sparse::round_to(problem.element, static_cast<float>(value)); });
  }
  gradients_ = make_values(matrix_, problem.element, problem.batch, gradient_stride, seed + 1000, 1);
  reference_ = sparse::softmax_backward(sample_.offsets, sample_.gather(matrix_, probabilities, probability_stride),
                                        sample_.gather(matrix_, gradients_, gradient_stride), factor);

  device_probabilities_ = DeviceOperand(device, sparse::to_storage(problem.element, probabilities), alignment);
  device_gradients_ = DeviceOperand(device, sparse::to_storage(problem.element, gradients_), alignment);
  device_scale_ = DeviceOperand(device, std::as_bytes(std::span(&factor, 1)), 16);
  output_stride_ = in_place ? gradient_stride : stride_of(problem.input_gradient_stride, matrix_);
  output_ = GuardedOutput(device, problem.output.value_or(problem.element), entries_of(matrix_, output_stride_),
                          problem.batch, shift_bytes(alignment));
  arguments_ = {
      .probabilities = device_probabilities_.data(),
      .output_gradient = in_place ? output_.data() : device_gradients_.data(),
      .input_gradient = output_.data(),
      .scale = problem.scale == Scale::host ? factor : 1.0F,
      .device_scale = problem.scale == Scale::device ? static_cast<const float*>(device_scale_.data()) : nullptr};
}

std::vector<CaseOperand> SoftmaxBackwardCase::operands() const {
  return {operand(&SoftmaxBackwardArguments::probabilities, device_probabilities_.bytes()),
          operand(&SoftmaxBackwardArguments::output_gradient, in_place_ ? output_.bytes() : device_gradients_.bytes()),
          operand(&SoftmaxBackwardArguments::input_gradient, output_.bytes())};
}

double SoftmaxBackwardCase::flops() const { return five_for_each(matrix_, problem_.batch); }

Check SoftmaxBackwardCase::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_.own_stream();
  output_.reset(stream, in_place_ ? std::span<const float>(gradients_) : std::span<const float>());
  enqueue(stream);
  device_.synchronize(stream);
  const GuardedOutput::Contents output = output_.read();
  return compare(reference_, problem_.output.value_or(problem_.element),
                 sample_.gather(matrix_, output.values, output_stride_), output.wrong);
}

}  // namespace vostok::tune
