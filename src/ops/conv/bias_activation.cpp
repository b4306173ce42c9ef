#include <abi/bias_activation.h>

#include "codegen/expression.hpp"
#include "ops/conv/problem.hpp"
#include "ops/conv/stream.hpp"
#include "ops/families.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<BiasActivationTraits>(),
              "fields(BiasActivationTraits) must name every member");
static_assert(codegen::lists_every_field<BiasActivationConfig>(),
              "fields(BiasActivationConfig) must name every member");

struct BindBiasActivation {
  BiasActivationArgs fixed;
  std::int64_t blocks;

  device::Dim3 operator()(const BiasActivationArguments& call, BiasActivationArgs& args) const {
    args = fixed;
    args.input = call.input;
    args.bias = call.bias;
    args.output = call.output;
    return grid_of(blocks, 1);
  }
};

std::int64_t element_count(const BiasActivation& problem) { return problem.batch * problem.rows * problem.columns; }

/// Vectors may cross rows: only alignment limits them.
BiasActivationTraits traits_of(const BiasActivation& problem) {
  return {.element = problem.element,
          .bias = problem.bias,
          .activation = problem.activation,
          .widest_vector = stream::widest_vector(0, problem.alignment_bytes, problem.element),
          .wide_indices = stream::needs_wide_indices(element_count(problem)),
          .bias_element = problem.bias_element.value_or(Dtype::f32)};
}

struct BiasActivationFamily
    : stream::StreamFamily<BiasActivationQuery, BiasActivationTraits, BiasActivationConfig, traits_of, element_count> {
  static constexpr std::string_view name = "bias_activation";

  static std::vector<Launch> launches(const BiasActivationQuery& query, const BiasActivationConfig& config,
                                      const TopologyPointers&) {
    BiasActivationArgs fixed{};
    fixed.elements = element_count(query.problem);
    fixed.rows = query.problem.rows;
    fixed.columns = query.problem.columns;
    return {Launch::of<BiasActivationArguments, BiasActivationArgs>(
        {.family = "bias_activation",
         .header = "conv/bias_activation.h",
         .expression = codegen::name_expression("bias_activation", "BiasActivationTraits", traits_of(query.problem),
                                                "BiasActivationConfig", config)},
        {.grid = {}, .block = {static_cast<unsigned>(config.block_threads)}, .shared_bytes = 0},
        BindBiasActivation{.fixed = fixed, .blocks = stream::blocks(config, fixed.elements)})};
  }

  static double predict_us(const BiasActivationQuery& query, const BiasActivationConfig& config) {
    const auto count = static_cast<double>(element_count(query.problem));
    const double threads = count / config.vector / config.vectors_per_thread;
    return stream::predict_us(query, 2 * count * size_of(query.problem.element), threads);
  }
};

}  // namespace

std::unique_ptr<Family> make_bias_activation() { return family_of<BiasActivationFamily>(); }

}  // namespace vostok::ops
