#include "tune/sddmm_case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "sparse/sddmm_reference.hpp"
#include "tune/fill.hpp"

namespace vostok::tune {

namespace {

constexpr std::int64_t guard_bytes = 4096;
constexpr std::byte poison{0xFF};  ///< every value of it is a NaN, in any type
/// Multiply-adds that a reference may cost; beyond, a sample of entries is compared.
constexpr std::int64_t most_reference_work = 4'000'000'000;

/// Every entry, or a seeded sample that holds the first and the last.
std::vector<std::int64_t> entries_to_compare(std::int64_t nonzeros, std::int64_t work_per_entry, std::uint64_t seed) {
  const std::int64_t affordable = std::max<std::int64_t>(most_reference_work / std::max<std::int64_t>(work_per_entry, 1), 64);
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

/// Elements are put where they have the alignment that the problem declares and no more.
std::int64_t shift_bytes(const Sddmm& problem, Dtype type) { return std::max(problem.alignment_bytes, size_of(type)) % 16; }

sparse::DenseView view(const std::vector<float>& values, const ops::StoredMatrix& stored, Layout layout, std::int64_t matrix) {
  const bool row_major = layout == Layout::row_major;
  return {.data = values.data() + matrix * stored.stride, .row_step = row_major ? stored.leading : 1, .column_step = row_major ? 1 : stored.leading};
}

}  // namespace

SddmmCase::SddmmCase(device::Device& device, const Sddmm& problem, sparse::Csr mask, std::uint64_t seed, float scale)
    : device_(device), mask_(std::move(mask)) {
  const TopologyStatistics statistics = sparse::statistics(mask_.rows, mask_.cols, mask_.row_offsets, mask_.column_indices);
  ops::validate(problem, statistics);
  query_ = ops::make_query(problem, statistics, {problem.n, problem.n}, &device);
  const Sddmm& resolved = query_->problem;
  lhs_ = make_dense(query_->lhs(), seed);
  rhs_ = make_dense(query_->rhs(), seed + 1);
  const std::int64_t multipliers = resolved.multiply ? (resolved.batch - 1) * resolved.multiplier_stride + mask_.nonzeros() : 0;
  multiplier_ = make_vector(resolved.element, multipliers, seed + 2);
  device_scale_ = upload(Dtype::f32, {scale});
  make_initial_output(seed + 3);
  arguments_ = {.lhs = lhs_.data,
                .rhs = rhs_.data,
                .output = device_output_.as<std::byte>() + guard_bytes + shift_bytes(resolved, *resolved.output),
                .multiplier = multiplier_.data,
                .scale = scale,
                .device_scale = static_cast<const float*>(device_scale_.data)};
  make_reference(seed + 4);
}

SddmmCase::Operand SddmmCase::make_vector(Dtype type, std::int64_t count, std::uint64_t seed) const {
  std::vector<float> values(static_cast<std::size_t>(count));
  fill_uniform(values.data(), count, seed);
  return upload(type, std::move(values));
}

SddmmCase::Operand SddmmCase::make_dense(const ops::StoredMatrix& stored, std::uint64_t seed) const {
  const std::int64_t count = stored.extent() == 0 ? 0 : (query_->problem.batch - 1) * stored.stride + stored.extent();
  std::vector<float> values(static_cast<std::size_t>(count));
  fill_uniform(values.data(), count, seed);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t within = i % stored.stride;
    if (within >= stored.extent() || within % stored.leading >= stored.length)
      values[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
  }
  return upload(query_->problem.element, std::move(values));
}

SddmmCase::Operand SddmmCase::upload(Dtype type, std::vector<float> values) const {
  const std::int64_t shift = shift_bytes(query_->problem, type);
  const std::vector<std::byte> stored = sparse::to_storage(type, values);
  const auto bytes = static_cast<std::int64_t>(stored.size());
  Operand operand{.values = sparse::from_storage(type, stored), .buffer = device::Buffer(device_, bytes + shift)};
  operand.data = operand.buffer.as<std::byte>() + shift;
  if (bytes > 0) device_.copy_to_device(operand.data, stored.data(), bytes);
  return operand;
}

std::int64_t SddmmCase::output_at(std::int64_t matrix, std::int64_t entry) const { return matrix * query_->output_stride() + entry; }

void SddmmCase::make_initial_output(std::uint64_t seed) {
  const Sddmm& problem = query_->problem;
  const std::int64_t element_bytes = size_of(*problem.output);
  const std::int64_t shift = shift_bytes(problem, *problem.output);
  const std::int64_t count = output_at(problem.batch - 1, mask_.nonzeros());
  initial_.assign(static_cast<std::size_t>(count * element_bytes + shift + 2 * guard_bytes), poison);
  if (problem.accumulate) {
    accumulated_.resize(static_cast<std::size_t>(problem.batch * mask_.nonzeros()));
    fill_uniform(accumulated_.data(), problem.batch * mask_.nonzeros(), seed);
    const std::vector<std::byte> stored = sparse::to_storage(*problem.output, accumulated_);
    accumulated_ = sparse::from_storage(*problem.output, stored);
    const std::int64_t row_bytes = mask_.nonzeros() * element_bytes;
    for (std::int64_t b = 0; b < problem.batch; ++b)
      std::copy_n(stored.begin() + b * row_bytes, row_bytes, initial_.begin() + guard_bytes + shift + output_at(b, 0) * element_bytes);
  }
  device_output_ = device::Buffer(device_, static_cast<std::int64_t>(initial_.size()));
}

void SddmmCase::make_reference(std::uint64_t seed) {
  const Sddmm& problem = query_->problem;
  entries_ = entries_to_compare(mask_.nonzeros(), problem.n * problem.batch, seed);
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const std::vector<double> products = sparse::sddmm(mask_, entries_, view(lhs_.values, query_->lhs(), problem.lhs_layout, b),
                                                       view(rhs_.values, query_->rhs(), problem.rhs_layout, b), problem.n);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::int64_t entry = entries_[i];
      double value = products[i];
      if (problem.scale != Scale::one) value *= static_cast<double>(arguments_.scale);
      if (problem.multiply) value *= static_cast<double>(multiplier_.values[static_cast<std::size_t>(b * problem.multiplier_stride + entry)]);
      if (problem.accumulate) value += static_cast<double>(accumulated_[static_cast<std::size_t>(b * mask_.nonzeros() + entry)]);
      reference_.push_back(value);
    }
  }
}

double SddmmCase::flops() const {
  return 2.0 * static_cast<double>(mask_.nonzeros()) * static_cast<double>(query_->problem.n) * static_cast<double>(query_->problem.batch);
}

Check SddmmCase::verify(const std::function<void(Stream)>& enqueue) {
  const Sddmm& problem = query_->problem;
  const Stream stream = device_.own_stream();
  device_.copy_to_device(device_output_.data(), initial_.data(), device_output_.bytes());
  enqueue(stream);
  device_.synchronize(stream);
  std::vector<std::byte> memory(initial_.size());
  device_.copy_to_host(memory.data(), device_output_.data(), device_output_.bytes());

  const std::int64_t element_bytes = size_of(*problem.output);
  const auto first = static_cast<const std::byte*>(arguments_.output) - device_output_.as<std::byte>();
  output_.clear();
  std::vector<float> compared;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const std::span<const std::byte> matrix(memory.data() + first + output_at(b, 0) * element_bytes,
                                            static_cast<std::size_t>(mask_.nonzeros() * element_bytes));
    const std::vector<float> values = sparse::from_storage(*problem.output, matrix);
    output_.insert(output_.end(), values.begin(), values.end());
    for (const std::int64_t entry : entries_) compared.push_back(values[static_cast<std::size_t>(entry)]);
  }
  const auto count = static_cast<std::int64_t>(compared.size());
  Check check{.error = sparse::relative_error(compared, count, reference_, 1, count),
              .tolerance = sparse::sddmm_tolerance(problem.n, *problem.output),
              .wrong = find_stray_write(memory)};
  const auto missing = std::find_if(output_.begin(), output_.end(), [](float value) { return std::isnan(value); });
  if (check.wrong.empty() && missing != output_.end())
    check.wrong = fmt::format("element {} of the output was not written, or is NaN", missing - output_.begin());
  if (check.wrong.empty() && !(check.error <= check.tolerance))
    check.wrong = fmt::format("error {:.2e} is above the tolerance {:.2e}", check.error, check.tolerance);
  return check;
}

/// What is wrong where anything but the batch's nonzeros was written; empty where nothing was.
std::string SddmmCase::find_stray_write(const std::vector<std::byte>& memory) const {
  const std::int64_t element_bytes = size_of(*query_->problem.output);
  const auto first = static_cast<const std::byte*>(arguments_.output) - device_output_.as<std::byte>();
  std::int64_t at = 0;
  for (std::int64_t b = 0; b <= query_->problem.batch; ++b) {
    const bool behind = b == query_->problem.batch;
    const std::int64_t end = behind ? static_cast<std::int64_t>(memory.size()) : first + output_at(b, 0) * element_bytes;
    for (; at < end; ++at)
      if (memory[static_cast<std::size_t>(at)] != poison)
        return fmt::format("memory outside the output was written, {} bytes from its start", at - first);
    at += mask_.nonzeros() * element_bytes;
  }
  return {};
}

}  // namespace vostok::tune
