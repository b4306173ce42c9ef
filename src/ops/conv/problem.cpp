#include "ops/conv/problem.hpp"

#include "base/checked.hpp"
#include "ops/resolved_query.hpp"

namespace vostok::ops {

namespace {

static_assert(lists_every_problem_field<DepthwiseConvolution>(),
              "problem_fields must name every member of DepthwiseConvolution");
static_assert(lists_every_problem_field<BiasActivation>(), "problem_fields must name every member of BiasActivation");
static_assert(lists_every_problem_field<Im2col>(), "problem_fields must name every member of Im2col");

std::int64_t bytes_of(std::int64_t a, std::int64_t b, std::int64_t c, Dtype type, const char* what) {
  return checked_multiply(checked_multiply(checked_multiply(a, b, what), c, what), size_of(type), what);
}

/// Checks an image, its padding, and a kernel of this size: the output must have pixels.
template <class P>
void validate_image(const char* object, const P& problem, std::int64_t kernel_height, std::int64_t kernel_width) {
  // Padding and sizes past this would only overflow sums.
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const auto require_size = [&](const char* field, std::int64_t value, std::int64_t least) {
    require_at_least(object, field, value, least);
    if (value > most)
      fail(ErrorCode::invalid_argument, "cannot plan {}: {} = {} is more than {}", object, field, value, most);
  };
  require_size("batch", problem.batch, 0);
  require_size("channels", problem.channels, 0);
  require_size("height", problem.height, 1);
  require_size("width", problem.width, 1);
  require_size("padding.top", problem.padding.top, 0);
  require_size("padding.bottom", problem.padding.bottom, 0);
  require_size("padding.left", problem.padding.left, 0);
  require_size("padding.right", problem.padding.right, 0);
  const std::int64_t padded_height = problem.height + problem.padding.top + problem.padding.bottom;
  const std::int64_t padded_width = problem.width + problem.padding.left + problem.padding.right;
  if (padded_height < kernel_height)
    fail(ErrorCode::invalid_argument,
         "cannot plan {}: the output has no rows, height = {} with padding is {}, and the kernel has {}", object,
         problem.height, padded_height, kernel_height);
  if (padded_width < kernel_width)
    fail(ErrorCode::invalid_argument,
         "cannot plan {}: the output has no columns, width = {} with padding is {}, and the kernel has {}", object,
         problem.width, padded_width, kernel_width);
  bytes_of(checked_multiply(problem.batch, problem.channels, "the input's size"), problem.height, problem.width,
           problem.element, "the input's bytes");
}

}  // namespace

void validate(const DepthwiseConvolution& problem, const TopologyStatistics&) {
  constexpr const char* object = "depthwise";
  require_enumerators(object, problem);
  require_alignment(object, problem.alignment_bytes, problem.element);
  require_bias_element(object, "bias_element", problem.bias_element, problem.element);
  if (problem.kernel != 3 && problem.kernel != 5) refuse(object, "kernel", std::to_string(problem.kernel), "3 and 5");
  if (problem.stride != 1 && problem.stride != 2) refuse(object, "stride", std::to_string(problem.stride), "1 and 2");
  validate_image(object, problem, problem.kernel, problem.kernel);
  bytes_of(checked_multiply(problem.batch, problem.channels, "the output's size"), problem.output_height(),
           problem.output_width(), problem.element, "the output's bytes");
}

void validate(const BiasActivation& problem, const TopologyStatistics&) {
  constexpr const char* object = "bias_activation";
  require_enumerators(object, problem);
  require_alignment(object, problem.alignment_bytes, problem.element);
  require_bias_element(object, "bias_element", problem.bias_element, problem.element);
  require_at_least(object, "batch", problem.batch, 0);
  require_at_least(object, "rows", problem.rows, 0);
  require_at_least(object, "columns", problem.columns, 0);
  bytes_of(problem.batch, problem.rows, problem.columns, problem.element, "the matrices' bytes");
}

void validate(const Im2col& problem, const TopologyStatistics&) {
  constexpr const char* object = "im2col";
  require_enumerators(object, problem);
  require_alignment(object, problem.alignment_bytes, problem.element);
  require_at_least(object, "kernel_height", problem.kernel_height, 1);
  require_at_least(object, "kernel_width", problem.kernel_width, 1);
  require_at_least(object, "stride", problem.stride, 1);
  validate_image(object, problem, problem.kernel_height, problem.kernel_width);
  const std::int64_t patch = std::int64_t{problem.kernel_height} * problem.kernel_width;
  bytes_of(checked_multiply(checked_multiply(problem.batch, problem.channels, "the output's rows"), patch,
                            "the output's rows"),
           problem.output_height(), problem.output_width(), problem.element, "the output's bytes");
}

std::shared_ptr<DepthwiseQuery> make_query(const DepthwiseConvolution& problem, const TopologyStatistics&,
                                           const SizeRange& n, const device::Device* device) {
  DepthwiseConvolution resolved = problem;
  resolved.bias_element = resolve_bias_element(problem.bias, problem.bias_element);
  return resolved_query<DepthwiseQuery>("depthwise", resolved, {}, n, device);
}

std::shared_ptr<BiasActivationQuery> make_query(const BiasActivation& problem, const TopologyStatistics&,
                                                const SizeRange& n, const device::Device* device) {
  BiasActivation resolved = problem;
  resolved.bias_element = resolve_bias_element(problem.bias != Bias::none, problem.bias_element);
  return resolved_query<BiasActivationQuery>("bias_activation", resolved, {}, n, device);
}

std::shared_ptr<Im2colQuery> make_query(const Im2col& problem, const TopologyStatistics&, const SizeRange& n,
                                        const device::Device* device) {
  return resolved_query<Im2colQuery>("im2col", problem, {}, n, device);
}

}  // namespace vostok::ops
