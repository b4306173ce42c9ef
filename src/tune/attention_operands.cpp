#include "tune/attention_operands.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/reference.hpp"
#include "tune/case.hpp"
#include "tune/fill.hpp"

namespace vostok::tune {

namespace {

/// Random values of every head, and NaN in the gaps.
std::vector<float> random_heads(Dtype type, const ops::StoredMatrix& shape, std::int64_t heads, std::uint64_t seed) {
  const std::int64_t count = shape.extent() == 0 ? 0 : (heads - 1) * shape.stride + shape.extent();
  std::vector<float> random(static_cast<std::size_t>(count));
  fill_uniform(random.data(), count, seed);
  std::vector<float> values(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t head = 0; head < heads && count > 0; ++head)
    for (std::int64_t row = 0; row < shape.lines; ++row) {
      const std::int64_t first = head * shape.stride + row * shape.leading;
      for (std::int64_t i = first; i < first + shape.length; ++i) values[i] = sparse::round_to(type, random[i]);
    }
  return values;
}

SparseAttention resolved(SparseAttention problem) {
  some("batch", problem.batch);
  some("n", problem.n);
  if (problem.value_size == 0) problem.value_size = problem.n;
  return problem;
}

}  // namespace

HeadsInput::HeadsInput(device::Device& device, const SparseAttention& problem, const ops::StoredMatrix& shape,
                       std::int64_t heads, std::uint64_t seed)
    : shape_(shape),
      values_(random_heads(problem.element, shape, heads, seed)),
      operand_(device, sparse::to_storage(problem.element, values_), problem.alignment_bytes) {}

HeadsOutput::HeadsOutput(device::Device& device, const SparseAttention& problem, Dtype type,
                         const ops::StoredMatrix& shape, std::int64_t heads)
    : type_(type), shape_(shape), memory_(device, type, shape, heads, shift_bytes(problem.alignment_bytes)) {}

GuardedOutput::Contents HeadsOutput::read(const char* name, std::string& wrong) const {
  GuardedOutput::Contents contents = memory_.read();
  if (wrong.empty() && !contents.wrong.empty()) wrong = fmt::format("{}: {}", name, contents.wrong);
  return contents;
}

void HeadsOutput::write(Stream stream, const std::vector<std::vector<double>>& heads) const {
  std::vector<float> values(static_cast<std::size_t>(memory_.bytes() / size_of(type_)));
  for (std::size_t head = 0; head < heads.size(); ++head)
    for (std::size_t i = 0; i < heads[head].size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / shape_.length,
                         at = static_cast<std::int64_t>(i) % shape_.length;
      values[static_cast<std::int64_t>(head) * shape_.stride + row * shape_.leading + at] =
          static_cast<float>(heads[head][i]);
    }
  memory_.reset(stream, values);
}

double HeadsOutput::error(const GuardedOutput::Contents& contents, std::int64_t head,
                          const std::vector<double>& reference) const {
  if (shape_.extent() == 0) return 0;
  const std::span<const float> values =
      std::span(contents.values).subspan(static_cast<std::size_t>(head * shape_.stride));
  return sparse::relative_error(values, shape_.leading, reference, shape_.lines, shape_.length, type_);
}

AttentionOperands::AttentionOperands(device::Device& device, const SparseAttention& problem, sparse::Csr mask,
                                     std::uint64_t seed)
    : problem_(resolved(problem)),
      bias_(device, problem_, mask, seed + 6),
      mask_(problem.causal ? sparse::causal_mask(mask) : std::move(mask)),
      query_(device, problem_, query_shape(), problem_.batch, seed),
      key_(device, problem_, key_shape(), ops::key_heads_of(problem_), seed + 1),
      value_(device, problem_, value_shape(), ops::key_heads_of(problem_), seed + 2),
      dropout_state_{seed + 5, 7},
      dropout_on_device_(device, std::as_bytes(std::span(dropout_state_)), sizeof(std::uint64_t)) {}

float AttentionOperands::softcap() const {
  constexpr float bends_most_scores = 0.5F;
  return problem_.capped ? bends_most_scores : 0.0F;
}

float AttentionOperands::dropout() const { return problem_.dropped ? 0.25F : 0.0F; }

const std::uint64_t* AttentionOperands::dropout_state() const {
  return problem_.dropped ? static_cast<const std::uint64_t*>(dropout_on_device_.data()) : nullptr;
}

ops::StoredMatrix AttentionOperands::query_shape() const {
  return ops::stored_matrix(Layout::row_major, mask_.rows, problem_.n, problem_.query_leading, problem_.query_stride);
}

ops::StoredMatrix AttentionOperands::key_shape() const {
  return ops::stored_matrix(Layout::row_major, mask_.cols, problem_.n, problem_.key_leading, problem_.key_stride);
}

ops::StoredMatrix AttentionOperands::value_shape() const {
  return ops::stored_matrix(Layout::row_major, mask_.cols, problem_.value_size, problem_.value_leading,
                            problem_.value_stride);
}

ops::StoredMatrix AttentionOperands::output_shape() const {
  return ops::stored_matrix(Layout::row_major, mask_.rows, problem_.value_size, problem_.output_leading,
                            problem_.output_stride);
}

HeadsOutput AttentionOperands::make_saved(device::Device& device, std::int64_t saved_bytes) const {
  const bool probabilities = problem_.saved == Saved::probabilities;
  const std::int64_t width = probabilities                             ? mask_.nonzeros()
                             : problem_.saved == Saved::row_statistics ? mask_.rows
                                                                       : 0;
  const Dtype type = probabilities ? problem_.element : Dtype::f32;
  SparseAttention aligned = problem_;
  aligned.alignment_bytes = 16;  // as `saved` always is, whatever alignment the operands have
  return {device, aligned, type,
          ops::stored_matrix(Layout::row_major, 1, width, 0, saved_bytes / size_of(type) / problem_.batch),
          problem_.batch};
}

sparse::AttentionHead AttentionOperands::head(std::int64_t head) const {
  return {.query = query_.view(head),
          .key = key_.view(head / group()),
          .value = value_.view(head / group()),
          .n = problem_.n,
          .value_size = problem_.value_size,
          .scale = 1 / std::sqrt(static_cast<double>(problem_.n)),
          .softcap = softcap(),
          .bias = bias_.seen(head),
          .dropout = {.rate = dropout(), .seed = dropout_state_[0], .offset = dropout_state_[1], .head = head}};
}

std::vector<std::int64_t> AttentionOperands::sampled_heads(std::uint64_t seed) const {
  return sampled(problem_.batch, 1, seed);
}

std::vector<std::int64_t> AttentionOperands::sampled_key_heads(std::uint64_t seed) const {
  return sampled(ops::key_heads_of(problem_), group(), seed);
}

std::vector<std::int64_t> AttentionOperands::sampled(std::int64_t count, std::int64_t heads_each,
                                                     std::uint64_t seed) const {
  const std::int64_t of_head = mask_.nonzeros() * (problem_.n + problem_.value_size);
  const std::int64_t work = std::max<std::int64_t>(of_head * heads_each, 1);
  const std::int64_t affordable = std::max<std::int64_t>(most_reference_work / work, 1);
  std::vector<std::int64_t> heads;
  heads.reserve(static_cast<std::size_t>(std::min(affordable, count)));
  sparse::Random random(seed);
  for (std::int64_t i = 0; i < std::min(affordable, count); ++i)
    heads.push_back(affordable >= count ? i : random.below(count));
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
