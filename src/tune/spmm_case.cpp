#include "tune/spmm_case.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"

namespace vostok::tune {

namespace {

constexpr std::int64_t guard_elements = 1024;  ///< on either side; keeps the output 4096-byte aligned
/// Multiply-adds that a reference may cost; beyond, a sample of columns is compared.
constexpr std::int64_t most_reference_work = 4'000'000'000;
constexpr int poison_byte = 0xFF;  ///< every float of it is a NaN

device::Buffer upload(device::Device& device, const float* data, std::int64_t count) {
  const auto bytes = count * static_cast<std::int64_t>(sizeof(float));
  device::Buffer buffer(device, bytes);
  if (bytes > 0) device.copy_to_device(buffer.data(), data, bytes);
  return buffer;
}

std::vector<float> matrix_values(const sparse::Csr& matrix, std::uint64_t seed) {
  if (matrix.values.empty()) return sparse::normal_values(matrix.nonzeros(), seed);
  return {matrix.values.begin(), matrix.values.end()};
}

/// All columns of the output, or a seeded sample that holds the first and the last.
std::vector<std::int64_t> columns_to_compare(std::int64_t nonzeros, std::int64_t n, std::uint64_t seed) {
  const std::int64_t affordable = std::max<std::int64_t>(most_reference_work / std::max<std::int64_t>(nonzeros, 1), 64);
  std::vector<std::int64_t> columns;
  if (n <= affordable) {
    for (std::int64_t j = 0; j < n; ++j) columns.push_back(j);
    return columns;
  }
  sparse::Random random(seed);
  columns = {0, n - 1};
  while (std::cmp_less(columns.size(), std::min<std::int64_t>(affordable, 512))) columns.push_back(random.below(n));
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

bool poisoned(float value) { return std::isnan(value); }

}  // namespace

SpmmCase::SpmmCase(device::Device& device, const Spmm& problem, sparse::Csr matrix, std::uint64_t seed, float host_scale)
    : device_(device),
      problem_(problem),
      matrix_(std::move(matrix)),
      dense_leading_(problem.dense_leading > 0 ? problem.dense_leading : problem.n),
      output_leading_(problem.output_leading > 0 ? problem.output_leading : problem.n),
      seed_(seed),
      values_(matrix_values(matrix_, seed)) {
  const std::int64_t dense_count = checked_multiply(matrix_.cols, dense_leading_, "the dense operand's size");
  const std::int64_t output_count = checked_multiply(matrix_.rows, output_leading_, "the output's size");
  const auto dense = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(dense_count));
  fill_uniform(dense.get(), dense_count, seed + 1);
  bias_.resize(static_cast<std::size_t>(problem.epilogue.bias == Bias::per_row      ? matrix_.rows
                                        : problem.epilogue.bias == Bias::per_column ? problem.n
                                                                                    : 0));
  fill_uniform(bias_.data(), static_cast<std::int64_t>(bias_.size()), seed + 2);

  device_values_ = upload(device, values_.data(), matrix_.nonzeros());
  device_dense_ = upload(device, dense.get(), dense_count);
  device_bias_ = upload(device, bias_.data(), static_cast<std::int64_t>(bias_.size()));
  device_output_ = device::Buffer(device, (output_count + 2 * guard_elements) * static_cast<std::int64_t>(sizeof(float)));
  arguments_ = {.values = device_values_.data(),
                .dense = device_dense_.data(),
                .output = device_output_.as<float>() + guard_elements,
                .bias = device_bias_.data(),
                .scale = problem.epilogue.scale == Scale::host ? host_scale : 1.0F,
                .n = problem.n};
  make_reference(dense.get());
}

double SpmmCase::flops() const { return 2.0 * static_cast<double>(matrix_.nonzeros()) * static_cast<double>(problem_.n); }

void SpmmCase::make_reference(const float* dense) {
  columns_ = columns_to_compare(matrix_.nonzeros(), problem_.n, seed_ + 3);
  const auto width = static_cast<std::int64_t>(columns_.size());
  std::vector<float> gathered(static_cast<std::size_t>(matrix_.cols * width));
  for (std::int64_t i = 0; i < matrix_.cols; ++i)
    for (std::int64_t j = 0; j < width; ++j)
      gathered[static_cast<std::size_t>(i * width + j)] = dense[i * dense_leading_ + columns_[static_cast<std::size_t>(j)]];
  reference_ = sparse::spmm(matrix_, values_, gathered, width, width);

  std::vector<float> bias = bias_;
  if (problem_.epilogue.bias == Bias::per_column) {
    bias.clear();
    for (const std::int64_t column : columns_) bias.push_back(bias_[static_cast<std::size_t>(column)]);
  }
  sparse::apply_epilogue(reference_, matrix_.rows, width, problem_.epilogue, arguments_.scale, bias);
}

Check SpmmCase::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_.own_stream();
  device_.fill(stream, device_output_.data(), poison_byte, device_output_.bytes());
  enqueue(stream);
  device_.synchronize(stream);
  std::vector<float> guarded(static_cast<std::size_t>(device_output_.bytes()) / sizeof(float));
  device_.copy_to_host(guarded.data(), device_output_.data(), device_output_.bytes());
  return compare(guarded);
}

Check SpmmCase::compare(const std::vector<float>& guarded) const {
  const std::int64_t rows = matrix_.rows;
  const auto width = static_cast<std::int64_t>(columns_.size());
  const float* output = guarded.data() + guard_elements;
  const TopologyStatistics statistics = sparse::statistics(rows, matrix_.cols, matrix_.row_offsets, matrix_.column_indices);
  Check check{.error = 0, .tolerance = sparse::spmm_tolerance(statistics.longest_row), .wrong = {}};

  for (std::int64_t i = 0; i < guard_elements; ++i)
    if (!poisoned(guarded[static_cast<std::size_t>(i)]) || !poisoned(guarded[guarded.size() - 1 - static_cast<std::size_t>(i)]))
      check.wrong = "memory outside the output was written";
  std::vector<float> compared;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = output + i * output_leading_;
    if (std::any_of(row, row + problem_.n, poisoned))
      check.wrong = fmt::format("row {} of the output holds elements that were not written, or NaN", i);
    if (!std::all_of(row + problem_.n, row + output_leading_, poisoned))
      check.wrong = fmt::format("the padding behind row {} of the output was written", i);
    for (const std::int64_t column : columns_) compared.push_back(row[column]);
  }
  check.error = sparse::relative_error(compared, width, reference_, rows, width);
  if (check.wrong.empty() && !(check.error <= check.tolerance))
    check.wrong = fmt::format("error {:.2e} is above the tolerance {:.2e}", check.error, check.tolerance);
  return check;
}

}  // namespace vostok::tune
