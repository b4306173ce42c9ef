#include "tune/attention_case.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "sparse/elements.hpp"
#include "sparse/reference.hpp"

namespace vostok::tune {

namespace {

constexpr double exponential_error = 5e-7;

/// Error of `roundings` roundings to a 16-bit type, for numbers that make up a row's sum.
double rounding(const AttentionOperands& operands, int roundings) {
  const Dtype type = operands.problem().element;
  if (type == Dtype::f32) return 0;
  return roundings *
         (sparse::unit_roundoff(type) + sparse::smallest_value(type) / 2 * static_cast<double>(operands.longest_row()));
}

double sum_tolerance(const SparseAttention& problem, std::int64_t longest, Dtype output) {
  return sparse::product_tolerance(longest, problem.element, problem.math, output);
}

double multiply_adds(const AttentionOperands& operands) {
  const SparseAttention& problem = operands.problem();
  return static_cast<double>(operands.mask().nonzeros()) * static_cast<double>(problem.n + problem.value_size) *
         static_cast<double>(problem.batch);
}

double square(double value) { return value * value; }

/// Of errors to what they are errors of; 0 of zeros, which have none.
double share(double squares, const std::vector<double>& of) {
  double whole = 0;
  for (const double value : of) whole += square(value);
  return whole > 0 ? std::sqrt(squares / whole) : 0;
}

/// Of each query, what its output's inner product with its gradient is off by: each element is rounded by itself.
std::vector<double> inner_errors(const sparse::AttentionForward& forward, const sparse::DenseView& gradient,
                                 std::int64_t value_size, Dtype type) {
  std::vector<double> errors(forward.logarithms.size());
  for (std::size_t row = 0; row < errors.size(); ++row) {
    double squares = 0;
    for (std::int64_t d = 0; d < value_size; ++d)
      squares += square(forward.output[row * value_size + d] * gradient.at(static_cast<std::int64_t>(row), d));
    errors[row] = 2 * sparse::unit_roundoff(type) * std::sqrt(squares);
  }
  return errors;
}

void add(std::vector<double>& sums, const std::vector<double>& terms) {
  sums.resize(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) sums[i] += terms[i];
}

}  // namespace

double attention_tolerance(const AttentionOperands& operands) {
  const SparseAttention& problem = operands.problem();
  return exponential_error + sum_tolerance(problem, problem.n, Dtype::f32) +
         sum_tolerance(problem, operands.longest_row(), problem.element) + rounding(operands, 1);
}

double attention_backward_tolerance(const AttentionOperands& operands) {
  const SparseAttention& problem = operands.problem();
  const std::int64_t longest = std::max(operands.longest_row(), operands.longest_column() * operands.group());
  return 2 * exponential_error + 2 * sum_tolerance(problem, std::max(problem.n, problem.value_size), Dtype::f32) +
         sum_tolerance(problem, operands.longest_row(), Dtype::f32) + sum_tolerance(problem, longest, problem.element) +
         rounding(operands, 3);
}

AttentionCase::AttentionCase(device::Device& device, const SparseAttention& problem, sparse::Csr mask,
                             std::uint64_t seed, std::int64_t saved_bytes)
    : device_(device),
      operands_(device, problem, std::move(mask), seed),
      heads_(operands_.sampled_heads(seed + 3)),
      output_(operands_.make_output(device, operands_.output_shape())),
      saved_(operands_.make_saved(device, saved_bytes)) {
  for (const std::int64_t head : heads_)
    reference_.push_back(sparse::attention(operands_.mask(), operands_.head(head)));
  arguments_ = {.query = operands_.query().data(),
                .key = operands_.key().data(),
                .value = operands_.value().data(),
                .bias = operands_.bias().data(),
                .output = output_.data(),
                .saved = problem.saved != Saved::none ? saved_.data() : nullptr,
                .softcap = operands_.softcap(),
                .dropout = operands_.dropout(),
                .dropout_state = operands_.dropout_state()};
}

double AttentionCase::flops() const { return 2 * multiply_adds(operands_); }

Check AttentionCase::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_.own_stream();
  output_.poison(stream);
  saved_.poison(stream);
  enqueue(stream);
  device_.synchronize(stream);

  Check check{.error = 0, .tolerance = attention_tolerance(operands_), .wrong = {}};
  const GuardedOutput::Contents output = output_.read("the output", check.wrong);
  const GuardedOutput::Contents saved = saved_.read("what was saved", check.wrong);
  double saved_error = 0;
  for (std::size_t i = 0; i < heads_.size(); ++i) {
    const sparse::AttentionForward& reference = reference_[i];
    check.error = std::max(check.error, output_.error(output, heads_[i], reference.output));
    if (operands_.problem().saved == Saved::probabilities)
      saved_error = std::max(saved_error, saved_.error(saved, heads_[i], reference.probabilities));
    if (operands_.problem().saved == Saved::row_statistics)
      saved_error = std::max(saved_error, saved_.error(saved, heads_[i], reference.logarithms));
  }
  if (check.wrong.empty() && !(saved_error <= check.tolerance))
    check.wrong =
        fmt::format("error {:.2e} of what was saved is above the tolerance {:.2e}", saved_error, check.tolerance);
  hold_to_tolerance(check);
  return check;
}

AttentionBackwardCase::AttentionBackwardCase(device::Device& device, const SparseAttentionBackward& problem,
                                             sparse::Csr mask, std::uint64_t seed, std::int64_t saved_bytes)
    : device_(device),
      operands_(device, problem.forward, std::move(mask), seed),
      output_gradient_(device, operands_.problem(), operands_.output_shape(), operands_.problem().batch, seed + 4),
      key_heads_(operands_.sampled_key_heads(seed + 3)),
      output_(operands_.make_output(device, operands_.output_shape())),
      saved_(operands_.make_saved(device, saved_bytes)),
      query_gradient_(operands_.make_output(device, operands_.query_shape())),
      key_gradient_(operands_.make_key_output(device, operands_.key_shape())),
      value_gradient_(operands_.make_key_output(device, operands_.value_shape())),
      bias_gradient_(operands_.make_output(device, operands_.bias().gradient_shape())),
      tolerance_(attention_backward_tolerance(operands_)) {
  for (const std::int64_t key_head : key_heads_) reference_.push_back(shared_gradients(key_head));
  const bool statistics = problem.forward.saved == Saved::row_statistics;
  if (statistics) {
    std::vector<sparse::AttentionForward> passes = forward_passes();
    double most = 0;
    if (size_of(problem.forward.element) == 2)
      for (std::size_t i = 0; i < key_heads_.size(); ++i)
        most = std::max(most, output_rounding(passes, key_heads_[i], reference_[i]));
    tolerance_ += most;
    write_forward(std::move(passes));
  } else {
    saved_.poison(device.own_stream());
  }
  device.synchronize(device.own_stream());
  arguments_ = {.query = operands_.query().data(),
                .key = operands_.key().data(),
                .value = operands_.value().data(),
                .bias = operands_.bias().data(),
                .output = statistics ? output_.data() : nullptr,
                .output_gradient = output_gradient_.data(),
                .saved = problem.forward.saved != Saved::none ? saved_.data() : nullptr,
                .query_gradient = query_gradient_.data(),
                .key_gradient = key_gradient_.data(),
                .value_gradient = value_gradient_.data(),
                .bias_gradient = operands_.bias().data() != nullptr ? bias_gradient_.data() : nullptr,
                .softcap = operands_.softcap(),
                .dropout = operands_.dropout(),
                .dropout_state = operands_.dropout_state()};
}

SharedGradients AttentionBackwardCase::shared_gradients(std::int64_t key_head) const {
  SharedGradients shared;
  const std::int64_t group = operands_.group();
  for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head) {
    sparse::AttentionGradients own =
        sparse::attention_gradients(operands_.mask(), operands_.head(head), output_gradient_.view(head));
    shared.query.push_back(std::move(own.query));
    shared.bias.push_back(operands_.bias().of_all(own.bias));
    add(shared.key, own.key);
    add(shared.value, own.value);
  }
  return shared;
}

/// What the rounding of a head's outputs adds to errors of the gradients: a query's is that of its inner product, in
/// all gradients of its scores.
double AttentionBackwardCase::output_rounding(const std::vector<sparse::AttentionForward>& passes,
                                              std::int64_t key_head, const SharedGradients& shared) const {
  const sparse::Csr& mask = operands_.mask();
  const SparseAttention& problem = operands_.problem();
  double most = 0, by_key = 0;
  for (std::size_t j = 0; j < shared.query.size(); ++j) {
    const std::int64_t own = key_head * operands_.group() + static_cast<std::int64_t>(j);
    sparse::AttentionHead head = operands_.head(own);
    const sparse::AttentionForward& forward = passes[static_cast<std::size_t>(own)];
    const std::vector<double> errors =
        inner_errors(forward, output_gradient_.view(own), head.value_size, problem.element);
    head.value = head.key;  // what a query's scores have in common meets the sum of its keys by their probabilities
    head.value_size = head.n;
    head.dropout = {};
    const std::vector<double> keys = sparse::attention(mask, head).output;
    double by_query = 0, by_bias = 0;
    for (std::int64_t row = 0; row < mask.rows; ++row) {
      double key_squares = 0, query_squares = 0, probabilities = 0;
      for (std::int64_t d = 0; d < head.n; ++d) {
        key_squares += square(keys[row * head.n + d]);
        query_squares += square(head.query.at(row, d));
      }
      for (std::int64_t i = mask.row_offsets[row]; i < mask.row_offsets[row + 1]; ++i)
        probabilities += square(forward.probabilities[i]);
      by_query += square(errors[row] * head.scale) * key_squares;
      by_key += square(errors[row] * head.scale) * query_squares * probabilities;
      by_bias += square(errors[row]) * probabilities;
    }
    most = std::max(most, share(by_query, shared.query[j]));
    most = std::max(most, share(by_bias, shared.bias[j]));
  }
  return std::max(most, share(by_key, shared.key));
}

std::vector<sparse::AttentionForward> AttentionBackwardCase::forward_passes() const {
  std::vector<sparse::AttentionForward> passes(static_cast<std::size_t>(operands_.problem().batch));
  const std::int64_t group = operands_.group();
  for (const std::int64_t key_head : key_heads_)
    for (std::int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
      passes[static_cast<std::size_t>(head)] = sparse::attention(operands_.mask(), operands_.head(head));
  return passes;
}

void AttentionBackwardCase::write_forward(std::vector<sparse::AttentionForward> passes) const {
  std::vector<std::vector<double>> outputs, logarithms;
  for (sparse::AttentionForward& forward : passes) {
    outputs.push_back(std::move(forward.output));
    logarithms.push_back(std::move(forward.logarithms));
  }
  output_.write(device_.own_stream(), outputs);
  saved_.write(device_.own_stream(), logarithms);
}

AttentionArguments AttentionBackwardCase::forward_call() const {
  // Backward arguments hold it const because the pass only reads it.
  void* const saved = arguments_.saved != nullptr ? saved_.data() : nullptr;
  return {.query = arguments_.query,
          .key = arguments_.key,
          .value = arguments_.value,
          .bias = arguments_.bias,
          .output = output_.data(),
          .saved = saved,
          .softcap = operands_.softcap(),
          .dropout = operands_.dropout(),
          .dropout_state = operands_.dropout_state()};
}

double AttentionBackwardCase::flops() const { return 2 * 2 * multiply_adds(operands_); }

Check AttentionBackwardCase::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_.own_stream();
  for (const HeadsOutput* gradient : {&query_gradient_, &key_gradient_, &value_gradient_, &bias_gradient_})
    gradient->poison(stream);
  enqueue(stream);
  device_.synchronize(stream);

  Check check{.error = 0, .tolerance = tolerance_, .wrong = {}};
  const auto compare = [&](const HeadsOutput& output, const char* name, const auto& visit_heads) {
    const GuardedOutput::Contents contents = output.read(name, check.wrong);
    for (std::size_t i = 0; i < key_heads_.size(); ++i)
      visit_heads(i, [&](std::int64_t head, const std::vector<double>& reference) {
        check.error = std::max(check.error, output.error(contents, head, reference));
      });
  };
  const auto compare_queries = [&](const HeadsOutput& output, const char* name, auto gradients) {
    compare(output, name, [&](std::size_t i, const auto& compare_head) {
      for (std::int64_t j = 0; j < operands_.group(); ++j)
        compare_head(key_heads_[i] * operands_.group() + j, (reference_[i].*gradients)[static_cast<std::size_t>(j)]);
    });
  };
  compare_queries(query_gradient_, "the queries' gradient", &SharedGradients::query);
  compare_queries(bias_gradient_, "the biases' gradient", &SharedGradients::bias);
  compare(key_gradient_, "the keys' gradient",
          [&](std::size_t i, const auto& compare_head) { compare_head(key_heads_[i], reference_[i].key); });
  compare(value_gradient_, "the values' gradient",
          [&](std::size_t i, const auto& compare_head) { compare_head(key_heads_[i], reference_[i].value); });
  hold_to_tolerance(check);
  return check;
}

}  // namespace vostok::tune
