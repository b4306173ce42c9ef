#include "tune/sddmm_case.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/text.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "sparse/sddmm_reference.hpp"
#include "tune/fill.hpp"
#include "tune/wide_operands.hpp"

namespace vostok::tune {

namespace {

/// Every entry, or a seeded sample that contains the first and the last.
std::vector<std::int64_t> entries_to_compare(std::int64_t nonzeros, std::int64_t work_per_entry, std::uint64_t seed) {
  const std::int64_t affordable =
      std::max<std::int64_t>(most_reference_work / std::max<std::int64_t>(work_per_entry, 1), 64);
  std::vector<std::int64_t> entries(static_cast<std::size_t>(std::min(nonzeros, affordable)));
  std::iota(entries.begin(), entries.end(), 0);
  if (nonzeros <= affordable) return entries;
  sparse::Random random(seed);
  std::generate(entries.begin() + 1, entries.end() - 1, [&] { return random.below(nonzeros); });
  entries.back() = nonzeros - 1;
  std::sort(entries.begin(), entries.end());
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  return entries;
}

sparse::DenseView view(const std::vector<float>& values, const ops::StoredMatrix& stored, Layout layout,
                       std::int64_t matrix) {
  const bool row_major = layout == Layout::row_major;
  return {.data = values.data() + matrix * stored.stride,
          .row_step = row_major ? stored.leading : 1,
          .column_step = row_major ? 1 : stored.leading};
}

}  // namespace

SddmmCase::SddmmCase(device::Device& device, const Sddmm& problem, sparse::Csr mask, std::uint64_t seed, float scale)
    : device_(device), mask_(std::move(mask)) {
  const TopologyStatistics statistics =
      sparse::statistics(mask_.rows, mask_.cols, mask_.row_offsets, mask_.column_indices);
  ops::validate(problem, statistics);
  some("batch", problem.batch);
  query_ = ops::make_query(problem, statistics, {problem.n, problem.n}, &device);
  const Sddmm& resolved = query_->problem;
  const Dtype output = resolved.output.value_or(resolved.element);
  lhs_ = make_dense(query_->lhs(), seed);
  rhs_ = make_dense(query_->rhs(), seed + 1);
  const std::int64_t multipliers =
      resolved.multiply ? (resolved.batch - 1) * resolved.multiplier_stride + mask_.nonzeros() : 0;
  multiplier_ = make_values(resolved.element, multipliers, seed + 2);
  device_scale_ = upload(Dtype::f32, {scale});
  guarded_ = GuardedOutput(device, output, query_->output(), resolved.batch,
                           shift_bytes(std::max(resolved.alignment_bytes, size_of(output))));
  if (resolved.accumulate) {
    initial_.resize(static_cast<std::size_t>((resolved.batch - 1) * query_->output().stride + mask_.nonzeros()));
    fill_uniform(initial_.data(), static_cast<std::int64_t>(initial_.size()), seed + 3);
    for (float& value : initial_) value = sparse::round_to(output, value);
  }
  arguments_ = {
      .lhs = lhs_.copy.data(),
      .rhs = rhs_.copy.data(),
      .output = guarded_.data(),
      .multiplier = resolved.multiply ? multiplier_.copy.data() : nullptr,
      .scale = resolved.scale == Scale::host ? scale : 1.0F,
      .device_scale = resolved.scale == Scale::device ? static_cast<const float*>(device_scale_.copy.data()) : nullptr};
  make_reference(seed + 4);
}

SddmmCase::Operand SddmmCase::upload(Dtype type, std::vector<float> values) const {
  for (float& value : values) value = sparse::round_to(type, value);
  DeviceOperand copy(device_, sparse::to_storage(type, values),
                     std::max(query_->problem.alignment_bytes, size_of(type)));
  return {.values = std::move(values), .copy = std::move(copy)};
}

SddmmCase::Operand SddmmCase::make_values(Dtype type, std::int64_t count, std::uint64_t seed) const {
  std::vector<float> values(static_cast<std::size_t>(count));
  fill_uniform(values.data(), count, seed);
  return upload(type, std::move(values));
}

SddmmCase::Operand SddmmCase::make_dense(const ops::StoredMatrix& stored, std::uint64_t seed) const {
  const std::int64_t count = stored.extent() == 0 ? 0 : (query_->problem.batch - 1) * stored.stride + stored.extent();
  std::vector<float> random(static_cast<std::size_t>(count));
  fill_uniform(random.data(), count, seed);
  // Filled line by line, since the matrices of a batch may lie side by side.
  std::vector<float> values(random.size(), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t b = 0; b < query_->problem.batch; ++b)
    for (std::int64_t line = 0; line < stored.lines; ++line) {
      const std::int64_t first = b * stored.stride + line * stored.leading;
      std::copy_n(random.begin() + first, stored.length, values.begin() + first);
    }
  return upload(query_->problem.element, std::move(values));
}

void SddmmCase::make_reference(std::uint64_t seed) {
  const Sddmm& problem = query_->problem;
  entries_ = entries_to_compare(mask_.nonzeros(), problem.n * problem.batch, seed);
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const std::vector<double> products =
        sparse::sddmm(mask_, entries_, view(lhs_.values, query_->lhs(), problem.lhs_layout, b),
                      view(rhs_.values, query_->rhs(), problem.rhs_layout, b), problem.n);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::int64_t entry = entries_[i];
      double value = products[i];
      if (problem.scale != Scale::one) value *= static_cast<double>(device_scale_.values.front());
      if (problem.multiply)
        value *=
            static_cast<double>(multiplier_.values[static_cast<std::size_t>(b * problem.multiplier_stride + entry)]);
      if (problem.accumulate)
        value += static_cast<double>(initial_[static_cast<std::size_t>(b * query_->output().stride + entry)]);
      reference_.push_back(value);
    }
  }
}

double SddmmCase::flops() const {
  return 2.0 * static_cast<double>(mask_.nonzeros()) * static_cast<double>(query_->problem.n) *
         static_cast<double>(query_->problem.batch);
}

std::vector<CaseOperand> SddmmCase::operands() const {
  return {operand(&SddmmArguments::lhs, lhs_.copy.bytes()), operand(&SddmmArguments::rhs, rhs_.copy.bytes()),
          operand(&SddmmArguments::multiplier, multiplier_.copy.bytes()),
          operand(&SddmmArguments::output, guarded_.bytes())};
}

bool SddmmCase::widen(bool wide) {
  const Sddmm& problem = query_->problem;
  if (problem.element != Dtype::f32 || problem.nonfinite == NonFinite::dense) return false;
  if (std::max(lhs_.values.size(), rhs_.values.size()) > most_wide_elements) return false;
  if (!wide) {
    copy_values(device_, lhs_.copy.data(), Dtype::f32, lhs_.values);
    copy_values(device_, rhs_.copy.data(), Dtype::f32, rhs_.values);
    return true;
  }
  std::vector<float> lhs = lhs_.values, rhs = rhs_.values;
  const WideFactors factors(problem.n);
  const auto product_of = [](Layout layout, std::int64_t line, std::int64_t place) {
    return layout == Layout::row_major ? place : line;
  };
  for_each_element(lhs, query_->lhs(), problem.batch, [&](float& value, std::int64_t line, std::int64_t place) {
    value /= factors(product_of(problem.lhs_layout, line, place));
  });
  for_each_element(rhs, query_->rhs(), problem.batch, [&](float& value, std::int64_t line, std::int64_t place) {
    value *= factors(product_of(problem.rhs_layout, line, place));
  });
  copy_values(device_, lhs_.copy.data(), Dtype::f32, lhs);
  copy_values(device_, rhs_.copy.data(), Dtype::f32, rhs);
  return true;
}

Check SddmmCase::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_.own_stream();
  guarded_.reset(stream, initial_);
  enqueue(stream);
  device_.synchronize(stream);
  GuardedOutput::Contents contents = guarded_.read();
  output_ = std::move(contents.values);

  std::vector<float> compared;
  for (std::int64_t b = 0; b < query_->problem.batch; ++b)
    for (const std::int64_t entry : entries_)
      compared.push_back(output_[static_cast<std::size_t>(b * query_->output().stride + entry)]);
  const auto count = static_cast<std::int64_t>(compared.size());
  const Dtype type = query_->problem.output.value_or(query_->problem.element);
  Check check{
      .error = sparse::relative_error(compared, count, reference_, 1, count, type),
      .tolerance = sparse::product_tolerance(query_->problem.n, query_->problem.element, query_->problem.math, type),
      .wrong = contents.wrong};
  if (check.wrong.empty() && contents.holds_nan) check.wrong = "the output holds NaN";
  hold_to_tolerance(check);
  return check;
}

}  // namespace vostok::tune
