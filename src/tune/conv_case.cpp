#include "tune/conv_case.hpp"

#include <span>
#include <utility>

#include "base/text.hpp"
#include "sparse/conv_reference.hpp"
#include "sparse/elements.hpp"
#include "sparse/reference.hpp"
#include "tune/fill.hpp"

namespace vostok::tune {

namespace {

/// Uniform values that the type holds exactly.
std::vector<float> make_values(Dtype type, std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  fill_uniform(values.data(), count, seed);
  if (type != Dtype::f32)
    for (float& value : values) value = sparse::round_to(type, value);
  return values;
}

DeviceOperand upload(device::Device& device, Dtype type, std::span<const float> values, int alignment_bytes) {
  return {device, sparse::to_storage(type, values), alignment_bytes};
}

/// Applies activation(c + bias) to each of a batch of [rows, columns].
void add_bias_and_activate(std::vector<double>& c, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                           Bias bias, Activation activation, std::span<const float> bias_values) {
  for (std::int64_t b = 0; b < batch; ++b)
    sparse::apply_epilogue(
        std::span(c).subspan(static_cast<std::size_t>(b * rows * columns), static_cast<std::size_t>(rows * columns)),
        rows, columns, {.bias = bias, .activation = activation}, {.bias = bias_values});
}

}  // namespace

template <class Call>
void DenseCase<Call>::expect(device::Device& device, Dtype type, int alignment_bytes, std::vector<double> reference,
                             double tolerance, std::vector<float> in_place) {
  device_ = &device;
  type_ = type;
  const auto count = static_cast<std::int64_t>(reference.size());
  const ops::StoredMatrix whole = {.lines = 1, .length = count, .leading = count, .stride = count};
  output_ = GuardedOutput(device, type, whole, 1, shift_bytes(alignment_bytes));
  before_ = std::move(in_place);
  reference_ = std::move(reference);
  tolerance_ = tolerance;
}

template <class Call>
Check DenseCase<Call>::verify(const std::function<void(Stream)>& enqueue) {
  const Stream stream = device_->own_stream();
  output_.reset(stream, before_);
  enqueue(stream);
  device_->synchronize(stream);
  const GuardedOutput::Contents contents = output_.read();
  const auto count = static_cast<std::int64_t>(reference_.size());
  Check check{.error = sparse::relative_error(contents.values, count, reference_, 1, count, type_),
              .tolerance = tolerance_,
              .wrong = contents.wrong};
  hold_to_tolerance(check);
  return check;
}

template class DenseCase<DepthwiseArguments>;
template class DenseCase<BiasActivationArguments>;
template class DenseCase<Im2colArguments>;

DepthwiseCase::DepthwiseCase(device::Device& device, const DepthwiseConvolution& problem, std::uint64_t seed,
                             std::vector<float> input) {
  const Dtype type = problem.element;
  const std::int64_t taps = std::int64_t{problem.kernel} * problem.kernel;
  if (input.empty()) input = make_values(type, problem.batch * problem.channels * problem.height * problem.width, seed);
  const std::vector<float> filters = make_values(type, problem.channels * taps, seed + 1);
  const Dtype bias_type = problem.bias_element.value_or(Dtype::f32);
  const std::vector<float> bias = make_values(bias_type, problem.bias ? problem.channels : 0, seed + 2);
  std::vector<double> reference = sparse::depthwise_sums(problem, input, filters);
  flops_ = 2.0 * static_cast<double>(taps) * static_cast<double>(reference.size());
  add_bias_and_activate(reference, problem.batch, problem.channels, problem.output_height() * problem.output_width(),
                        problem.bias ? Bias::per_row : Bias::none, problem.activation, bias);
  expect(device, type, problem.alignment_bytes, std::move(reference), sparse::sum_tolerance(taps, type));

  input_ = upload(device, type, input, problem.alignment_bytes);
  filters_ = upload(device, type, filters, problem.alignment_bytes);
  bias_ = upload(device, bias_type, bias, size_of(bias_type));
  arguments_ = {.input = input_.data(),
                .filters = filters_.data(),
                .bias = problem.bias ? bias_.data() : nullptr,
                .output = output_data()};
}

BiasActivationCase::BiasActivationCase(device::Device& device, const BiasActivation& problem, std::uint64_t seed,
                                       bool in_place) {
  const Dtype type = problem.element;
  const std::int64_t biases = problem.bias == Bias::none      ? 0
                              : problem.bias == Bias::per_row ? problem.rows
                                                              : problem.columns;
  const std::vector<float> input = make_values(type, problem.batch * problem.rows * problem.columns, seed);
  const Dtype bias_type = problem.bias_element.value_or(Dtype::f32);
  const std::vector<float> bias = make_values(bias_type, biases, seed + 1);
  std::vector<double> reference(input.begin(), input.end());
  flops_ = 2.0 * static_cast<double>(reference.size());
  add_bias_and_activate(reference, problem.batch, problem.rows, problem.columns, problem.bias, problem.activation,
                        bias);
  expect(device, type, problem.alignment_bytes, std::move(reference), sparse::sum_tolerance(1, type),
         in_place ? input : std::vector<float>());

  input_ = upload(device, type, input, problem.alignment_bytes);
  bias_ = upload(device, bias_type, bias, size_of(bias_type));
  arguments_ = {.input = in_place ? output_data() : input_.data(),
                .bias = problem.bias != Bias::none ? bias_.data() : nullptr,
                .output = output_data()};
}

Im2colCase::Im2colCase(device::Device& device, const Im2col& problem, std::uint64_t seed) {
  const Dtype type = problem.element;
  const std::vector<float> input =
      make_values(type, problem.batch * problem.channels * problem.height * problem.width, seed);
  const std::vector<float> patches = sparse::im2col(problem, input);
  expect(device, type, problem.alignment_bytes, {patches.begin(), patches.end()}, 0);
  input_ = upload(device, type, input, problem.alignment_bytes);
  arguments_ = {.input = input_.data(), .output = output_data()};
}

std::vector<CaseOperand> DepthwiseCase::operands() const {
  return {operand(&DepthwiseArguments::input, input_.bytes()), operand(&DepthwiseArguments::filters, filters_.bytes()),
          operand(&DepthwiseArguments::bias, bias_.bytes()), operand(&DepthwiseArguments::output, output_bytes())};
}

std::vector<CaseOperand> BiasActivationCase::operands() const {
  return {operand(&BiasActivationArguments::input, arguments_.input == output_data() ? output_bytes() : input_.bytes()),
          operand(&BiasActivationArguments::bias, bias_.bytes()),
          operand(&BiasActivationArguments::output, output_bytes())};
}

std::vector<CaseOperand> Im2colCase::operands() const {
  return {operand(&Im2colArguments::input, input_.bytes()), operand(&Im2colArguments::output, output_bytes())};
}

}  // namespace vostok::tune
