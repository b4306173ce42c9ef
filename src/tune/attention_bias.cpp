#include "tune/attention_bias.hpp"

#include <limits>

#include "sparse/elements.hpp"
#include "sparse/generate.hpp"

namespace vostok::tune {

namespace {

/// The places of the elements that a problem sees.
std::vector<std::int64_t> seen_places(const SparseAttention& problem, const sparse::Csr& mask) {
  std::vector<std::int64_t> places;
  for (std::int64_t row = 0; row < mask.rows; ++row)
    for (std::int64_t i = mask.row_offsets[row]; i < mask.row_offsets[row + 1]; ++i)
      if (!problem.causal || mask.column_indices[i] <= row + mask.cols - mask.rows) places.push_back(i);
  return places;
}

float drawn(Dtype type, sparse::Random& random) {
  if (random.below(8) == 0) return -std::numeric_limits<float>::infinity();
  return sparse::round_to(type, static_cast<float>(random.below(2048)) / 1024 - 1);
}

}  // namespace

BiasInput::BiasInput(device::Device& device, const SparseAttention& problem, const sparse::Csr& mask,
                     std::uint64_t seed) {
  if (!problem.biased) return;
  elements_ = mask.nonzeros();
  places_ = seen_places(problem, mask);
  sparse::Random random(seed);
  const std::int64_t lists = problem.bias_stride == 0 ? 1 : problem.batch;
  std::vector<float> values(static_cast<std::size_t>((lists - 1) * problem.bias_stride + elements_),
                            std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t list = 0; list < lists; ++list) {
    float* const own = values.data() + list * problem.bias_stride;
    for (std::int64_t i = 0; i < elements_; ++i) own[i] = drawn(problem.element, random);
    std::vector<float>& seen = seen_.emplace_back();
    for (const std::int64_t place : places_) seen.push_back(own[place]);
  }
  operand_ = DeviceOperand(device, sparse::to_storage(problem.element, values), size_of(problem.element));
}

std::span<const float> BiasInput::seen(std::int64_t head) const {
  if (seen_.empty()) return {};
  return seen_[seen_.size() == 1 ? 0 : static_cast<std::size_t>(head)];
}

std::vector<double> BiasInput::of_all(const std::vector<double>& of_seen) const {
  std::vector<double> all(static_cast<std::size_t>(elements_));
  for (std::size_t i = 0; i < places_.size(); ++i) all[static_cast<std::size_t>(places_[i])] = of_seen[i];
  return all;
}

ops::StoredMatrix BiasInput::gradient_shape() const {
  return ops::stored_matrix(Layout::row_major, 1, elements_, 0, elements_);
}

}  // namespace vostok::tune
