#include "tune/attention_operands.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "tune/fill.hpp"

namespace vostok::tune {

namespace {

constexpr std::int64_t guard_bytes = 4096;
constexpr int poison_byte = 0xff;
/// Multiply-adds that a reference may cost; beyond, fewer heads are compared.
constexpr std::int64_t most_reference_work = 4'000'000'000;

/// Elements are put where they have the alignment that the problem declares and no more.
std::int64_t shift_for(int alignment_bytes) { return alignment_bytes % 16; }

bool is_poison(const std::byte* bytes, std::int64_t count) {
  return std::all_of(bytes, bytes + count, [](std::byte byte) { return byte == std::byte{poison_byte}; });
}

HeadsShape shape_of(const SparseAttention& problem, std::int64_t rows, std::int64_t width, std::int64_t leading, std::int64_t stride) {
  HeadsShape shape{.heads = problem.batch, .rows = rows, .width = width, .leading = leading != 0 ? leading : width};
  shape.stride = stride != 0 ? stride : rows * shape.leading;
  return shape;
}

SparseAttention resolved(SparseAttention problem) {
  if (problem.value_size == 0) problem.value_size = problem.n;
  return problem;
}

}  // namespace

std::vector<bool> HeadsShape::owned() const {
  std::vector<bool> owned(static_cast<std::size_t>(extent()));
  if (owned.empty()) return owned;
  for (std::int64_t head = 0; head < heads; ++head)
    for (std::int64_t row = 0; row < rows; ++row) std::fill_n(owned.begin() + at(head, row), width, true);
  return owned;
}

HeadsInput::HeadsInput(device::Device& device, Dtype type, const HeadsShape& shape, int alignment_bytes, std::uint64_t seed)
    : shape_(shape), shift_bytes_(shift_for(alignment_bytes)), values_(static_cast<std::size_t>(shape.extent())) {
  fill_uniform(values_.data(), shape.extent(), seed);
  const std::vector<bool> owned = shape.owned();
  for (std::size_t i = 0; i < owned.size(); ++i)
    if (!owned[i]) values_[i] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::byte> stored = sparse::to_storage(type, values_);
  values_ = sparse::from_storage(type, stored);
  const auto bytes = static_cast<std::int64_t>(stored.size());
  buffer_ = device::Buffer(device, bytes + shift_bytes_);
  if (bytes > 0) device.copy_to_device(data(), stored.data(), bytes);
}

HeadsOutput::HeadsOutput(device::Device& device, Dtype type, const HeadsShape& shape, int alignment_bytes)
    : device_(&device),
      type_(type),
      shape_(shape),
      front_bytes_(guard_bytes + shift_for(alignment_bytes)),
      buffer_(device, front_bytes_ + checked_multiply(shape.extent(), size_of(type), "an output's bytes") + guard_bytes) {}

void HeadsOutput::poison(Stream stream) const { device_->fill(stream, buffer_.data(), poison_byte, buffer_.bytes()); }

HeadsOutput::Contents HeadsOutput::read(const char* what) const {
  std::vector<std::byte> all(static_cast<std::size_t>(buffer_.bytes()));
  device_->copy_to_host(all.data(), buffer_.data(), buffer_.bytes(), device_->own_stream());
  const std::byte* const first = all.data() + front_bytes_;
  const std::int64_t element_bytes = size_of(type_);
  const std::vector<bool> owned = shape_.owned();
  const auto count = static_cast<std::int64_t>(owned.size());

  Contents contents{.values = sparse::from_storage(type_, {first, static_cast<std::size_t>(count * element_bytes)})};
  for (std::int64_t i = 0; i < count && contents.wrong.empty(); ++i)
    if (is_poison(first + i * element_bytes, element_bytes) == owned[static_cast<std::size_t>(i)])
      contents.wrong =
          fmt::format("{}: element {} {}", what, i, owned[static_cast<std::size_t>(i)] ? "was not written" : "lies in a gap and was written");
  if (!is_poison(all.data(), front_bytes_) || !is_poison(first + count * element_bytes, guard_bytes))
    contents.wrong = fmt::format("{}: memory outside it was written", what);
  return contents;
}

double HeadsOutput::error(const Contents& contents, std::int64_t head, const std::vector<double>& reference) const {
  if (shape_.extent() == 0) return 0;
  const std::span<const float> values = std::span(contents.values).subspan(static_cast<std::size_t>(shape_.at(head, 0)));
  return sparse::relative_error(values, shape_.leading, reference, shape_.rows, shape_.width, type_);
}

AttentionOperands::AttentionOperands(device::Device& device, const SparseAttention& problem, sparse::Csr mask, std::uint64_t seed)
    : problem_(resolved(problem)),
      mask_(std::move(mask)),
      query_(device, problem.element, query_shape(), problem.alignment_bytes, seed),
      key_(device, problem.element, key_shape(), problem.alignment_bytes, seed + 1),
      value_(device, problem.element, value_shape(), problem.alignment_bytes, seed + 2) {}

HeadsShape AttentionOperands::query_shape() const {
  return shape_of(problem_, mask_.rows, problem_.n, problem_.query_leading, problem_.query_stride);
}

HeadsShape AttentionOperands::key_shape() const { return shape_of(problem_, mask_.cols, problem_.n, problem_.key_leading, problem_.key_stride); }

HeadsShape AttentionOperands::value_shape() const {
  return shape_of(problem_, mask_.cols, problem_.value_size, problem_.value_leading, problem_.value_stride);
}

HeadsShape AttentionOperands::output_shape() const {
  return shape_of(problem_, mask_.rows, problem_.value_size, problem_.output_leading, problem_.output_stride);
}

HeadsShape AttentionOperands::saved_shape(std::int64_t saved_bytes) const {
  const std::int64_t width = problem_.saved == Saved::probabilities ? mask_.nonzeros() : problem_.saved == Saved::row_statistics ? mask_.rows : 0;
  return shape_of(problem_, 1, width, 0, saved_bytes / size_of(saved_type()) / problem_.batch);
}

sparse::AttentionHead AttentionOperands::head(std::int64_t head) const {
  return {.query = query_.view(head),
          .key = key_.view(head),
          .value = value_.view(head),
          .n = problem_.n,
          .value_size = problem_.value_size,
          .scale = 1 / std::sqrt(static_cast<double>(problem_.n))};
}

std::vector<std::int64_t> AttentionOperands::sampled_heads(std::uint64_t seed) const {
  const std::int64_t work = std::max<std::int64_t>(mask_.nonzeros() * (problem_.n + problem_.value_size), 1);
  const std::int64_t affordable = std::max<std::int64_t>(most_reference_work / work, 1);
  std::vector<std::int64_t> heads;
  sparse::Random random(seed);
  for (std::int64_t i = 0; i < std::min(affordable, problem_.batch); ++i)
    heads.push_back(affordable >= problem_.batch ? i : random.below(problem_.batch));
  return heads;
}

std::int64_t AttentionOperands::longest_row() const {
  return sparse::statistics(mask_.rows, mask_.cols, mask_.row_offsets, mask_.column_indices).longest_row;
}

std::int64_t AttentionOperands::longest_column() const {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(mask_.cols));
  for (const std::int32_t column : mask_.column_indices) ++lengths[static_cast<std::size_t>(column)];
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

}  // namespace vostok::tune
