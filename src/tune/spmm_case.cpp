#include "tune/spmm_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "tune/device_operand.hpp"
#include "tune/wide_operands.hpp"

namespace vostok::tune {

namespace {

device::Buffer upload(device::Device& device, Dtype type, std::span<const float> values) {
  device::Buffer buffer(device, std::ssize(values) * size_of(type));
  copy_values(device, buffer.data(), type, values);
  return buffer;
}

/// All of [0, count), or a seeded sample of `affordable` that contains the first and the last.
std::vector<std::int64_t> sample_of(std::int64_t count, std::int64_t affordable, std::uint64_t seed) {
  std::vector<std::int64_t> sample;
  if (count <= affordable) {
    for (std::int64_t i = 0; i < count; ++i) sample.push_back(i);
    return sample;
  }
  sparse::Random random(seed);
  sample = {0, count - 1};
  while (std::cmp_less(sample.size(), affordable)) sample.push_back(random.below(count));
  std::sort(sample.begin(), sample.end());
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  return sample;
}

}  // namespace

SpmmCase::SpmmCase(device::Device& device, const Spmm& problem, sparse::Csr matrix, std::uint64_t seed,
                   float host_scale)
    : device_(device),
      host_(problem, std::move(matrix), seed, host_scale),
      values_(upload(device, problem.element, host_.values)),
      dense_(upload(device, problem.element, host_.dense)),
      bias_(upload(device, host_.bias_type(), host_.bias)),
      residual_(upload(device, host_.problem.output.value_or(host_.problem.element), host_.residual)),
      scale_(upload(device, Dtype::f32, std::span<const float>(&host_.scale, 1))),
      output_(device, host_.problem.output.value_or(host_.problem.element), host_.output_shape, problem.batch) {
  arguments_ = {.values = values_.data(),
                .dense = dense_.data(),
                .output = output_.data(),
                .bias = problem.epilogue.bias != Bias::none ? bias_.data() : nullptr,
                .residual = problem.epilogue.residual ? residual_.data() : nullptr,
                .scale = problem.epilogue.scale == Scale::host ? host_scale : 1.0F,
                .device_scale = problem.epilogue.scale == Scale::device ? scale_.as<float>() : nullptr,
                .n = problem.n};
  make_samples(seed + 6);
}

double SpmmCase::flops() const {
  return 2.0 * static_cast<double>(host_.walked.nonzeros()) * static_cast<double>(host_.problem.n) *
         static_cast<double>(host_.problem.batch);
}

const void* SpmmCase::launch_arguments() {
  launched_ = arguments_;
  if (launched_.packed.memory() != nullptr) launched_.values = launched_.packed.memory();
  return &launched_;
}

std::vector<CaseOperand> SpmmCase::operands() const {
  return {{.at = offsetof(SpmmArguments, values), .data = values_.data(), .bytes = values_.bytes()},
          operand(&SpmmArguments::dense, dense_.bytes()),
          operand(&SpmmArguments::output, output_.bytes()),
          operand(&SpmmArguments::bias, bias_.bytes()),
          operand(&SpmmArguments::residual, residual_.bytes())};
}

void SpmmCase::make_samples(std::uint64_t seed) {
  constexpr std::int64_t least_columns = 64;  ///< of a product, and most products, where not everything can be compared
  constexpr std::int64_t most_columns = 512;
  const Spmm& problem = host_.problem;
  const std::int64_t affordable = most_reference_work / std::max<std::int64_t>(host_.walked.nonzeros(), 1);
  const bool whole = problem.n <= affordable / problem.batch;
  const std::vector<std::int64_t> products = sample_of(problem.batch, whole ? problem.batch : 4, seed);
  const auto share = affordable / static_cast<std::int64_t>(products.size());
  const std::int64_t columns = whole ? problem.n : std::clamp(share, least_columns, most_columns);
  for (const std::int64_t product : products) {
    Sample sample = {.product = product, .columns = sample_of(problem.n, columns, seed + 1)};
    sample.reference = host_.reference(product, sample.columns);
    samples_.push_back(std::move(sample));
  }
}

Check SpmmCase::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_.own_stream();
  output_.reset(stream, host_.output);
  enqueue(stream);
  device_.synchronize(stream);
  return compare(output_.read());
}

bool SpmmCase::widen(bool wide) {
  const Spmm& problem = host_.problem;
  if (problem.element != Dtype::f32 || problem.nonfinite == NonFinite::dense) return false;
  if (host_.dense.size() > most_wide_elements || host_.values.size() > most_wide_elements) return false;
  if (!std::all_of(host_.values.begin(), host_.values.end(), takes_wide_factors)) return false;
  if (!wide) {
    copy_values(device_, values_.data(), Dtype::f32, host_.values);
    copy_values(device_, dense_.data(), Dtype::f32, host_.dense);
    return true;
  }
  std::vector<float> values = host_.values, dense = host_.dense;
  const WideFactors factors(host_.walked.cols);
  const std::int64_t sets = host_.value_stride == 0 ? 1 : problem.batch;
  for (std::int64_t set = 0; set < sets; ++set)
    for (std::int64_t entry = 0; entry < host_.walked.nonzeros(); ++entry) {
      const std::int64_t place = host_.value_positions.empty() ? entry : host_.value_positions[entry];
      float& value = values[static_cast<std::size_t>(set * host_.value_stride + place)];
      value /= factors(host_.walked.column_indices[entry]);
    }
  const bool by_rows = problem.dense_layout == Layout::row_major;
  for_each_element(dense, host_.dense_shape, problem.batch, [&](float& value, std::int64_t line, std::int64_t place) {
    value *= factors(by_rows ? line : place);
  });
  copy_values(device_, values_.data(), Dtype::f32, values);
  copy_values(device_, dense_.data(), Dtype::f32, dense);
  return true;
}

void SpmmCase::accept_not_finite(std::vector<float>& found, const Sample& sample) const {
  const std::size_t width = sample.columns.size();
  for (std::int64_t row = 0; row < host_.walked.rows; ++row) {
    if (host_.row_is_finite(sample.product, row)) continue;
    for (std::size_t i = static_cast<std::size_t>(row) * width; i < static_cast<std::size_t>(row + 1) * width; ++i)
      if (!std::isfinite(found[i])) found[i] = static_cast<float>(sample.reference[i]);
  }
}

Check SpmmCase::compare(const GuardedOutput::Contents& contents) const {
  const sparse::Csr& a = host_.walked;
  const Spmm& problem = host_.problem;
  const Dtype type = problem.output.value_or(problem.element);
  const std::int64_t longest = sparse::statistics(a.rows, a.cols, a.row_offsets, a.column_indices).longest_row;
  Check check{.error = 0,
              .tolerance = sparse::product_tolerance(longest, problem.element, problem.math, type),
              .wrong = contents.wrong};
  for (const Sample& sample : samples_) {
    const auto width = static_cast<std::int64_t>(sample.columns.size());
    std::vector<float> found = host_.columns_of(contents.values, sample.product, sample.columns);
    if (!host_.finite_values) accept_not_finite(found, sample);
    check.error = std::max(check.error, sparse::relative_error(found, width, sample.reference, a.rows, width, type));
  }
  // If A has non-finite values NaN may be correct; the comparison above has checked where.
  if (check.wrong.empty() && contents.holds_nan && host_.finite_values) check.wrong = "the output holds NaN";
  hold_to_tolerance(check);
  return check;
}

}  // namespace vostok::tune
