#include <algorithm>
#include <array>

#include <abi/depthwise.h>

#include "codegen/expression.hpp"
#include "ops/conv/problem.hpp"
#include "ops/conv/stream.hpp"
#include "ops/families.hpp"
#include "ops/limits.hpp"
#include "ops/rules.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<DepthwiseTraits>(), "fields(DepthwiseTraits) must name every member");
static_assert(codegen::lists_every_field<DepthwiseConfig>(), "fields(DepthwiseConfig) must name every member");

struct BindDepthwise {
  DepthwiseArgs fixed;
  std::int64_t blocks;

  device::Dim3 operator()(const DepthwiseArguments& call, DepthwiseArgs& args) const {
    args = fixed;
    args.input = call.input;
    args.filters = call.filters;
    args.bias = call.bias;
    args.output = call.output;
    return grid_of(blocks, 1);
  }
};

std::int64_t plane_count(const DepthwiseConvolution& problem) { return problem.batch * problem.channels; }

std::int64_t tile_count(const DepthwiseConvolution& problem, const DepthwiseConfig& config) {
  return plane_count(problem) * ceil_div(problem.output_height(), config.tile_height) *
         ceil_div(problem.output_width(), config.tile_width);
}

DepthwiseTraits traits_of(const DepthwiseConvolution& problem) {
  return {
      .element = problem.element,
      .kernel = problem.kernel,
      .stride = problem.stride,
      .left_phase = static_cast<int>(problem.padding.left % 8),
      .widest_load = stream::widest_vector(problem.width, problem.alignment_bytes, problem.element),
      .widest_store = stream::widest_vector(problem.output_width(), problem.alignment_bytes, problem.element),
      .bias = problem.bias,
      .activation = problem.activation,
      .wide_tiles = stream::needs_wide_indices(plane_count(problem) * problem.output_height() * problem.output_width()),
      .bias_element = problem.bias_element.value_or(Dtype::f32)};
}

using DepthwiseCase = Case<DepthwiseConvolution, DepthwiseTraits, DepthwiseConfig>;
using DepthwiseRule = Rule<DepthwiseCase>;

/// Registers of a thread for sums, weights and three rows of inputs.
int registers_needed(const DepthwiseTraits& t, const DepthwiseConfig& c) {
  return c.tile_width * c.tile_height + t.kernel * t.kernel + 3 * row_vectors(t, c) * c.vector + 24;
}

/// Rules beyond those of the kernel: a limit of the grid, and exclusion of what cannot be fast.
constexpr std::array depthwise_rules = {
    DepthwiseRule{"the grid's x holds fewer blocks than there are",
                  [](const DepthwiseCase& c) {
                    return ceil_div(tile_count(c.query, c.config), c.config.block_threads) > most_blocks_on_x;
                  }},
    DepthwiseRule{"sums, weights and inputs do not fit a thread's registers",
                  [](const DepthwiseCase& c) {
                    return registers_needed(c.traits, c.config) >
                           std::min(128, multiprocessor_registers() / c.config.block_threads);
                  }},
    DepthwiseRule{"half of the tile or more would lie outside the output",
                  [](const DepthwiseCase& c) {
                    return (c.config.tile_width > 1 && c.config.tile_width >= 2 * c.query.output_width()) ||
                           (c.config.tile_height > 1 && c.config.tile_height >= 2 * c.query.output_height());
                  }},
};

/// The widest vector that a tile of this width allows.
int vector_for(const DepthwiseTraits& traits, int tile_width) {
  return std::min(traits.widest_load, tile_width * traits.stride);
}

struct DepthwiseDirect {
  using Query = DepthwiseQuery;
  using Config = DepthwiseConfig;
  static constexpr std::string_view name = "depthwise_direct";

  static std::optional<std::string> declines(const DepthwiseQuery&) { return std::nullopt; }

  /// Tiles as wide as a vector of outputs and up to four rows high; smaller if registers, or tiles to fill the device,
  /// are too few.
  static DepthwiseConfig default_config(const DepthwiseQuery& query) {
    const DepthwiseConvolution& problem = query.problem;
    const DepthwiseTraits traits = traits_of(problem);
    DepthwiseConfig config{
        .tile_width = 4, .tile_height = problem.kernel == 3 ? 4 : 2, .vector = 1, .block_threads = 128};
    while (config.tile_width > 1 && config.tile_width >= 2 * problem.output_width()) config.tile_width /= 2;
    while (config.tile_height > 1 && config.tile_height >= 2 * problem.output_height()) config.tile_height /= 2;
    // 25,000 to 50,000 were best for layers of MobileNetV1 (bench/notes/cost_models.md#fitted-to-their-trials).
    constexpr std::int64_t wanted_threads = std::int64_t{usual_multiprocessors} * 360;
    constexpr std::int64_t least_threads = std::int64_t{usual_multiprocessors} * 128;
    while (config.tile_height > 1 && tile_count(problem, config) < wanted_threads) config.tile_height /= 2;
    while (config.tile_width > 1 && tile_count(problem, config) < least_threads) config.tile_width /= 2;
    config.vector = vector_for(traits, config.tile_width);
    while (config.vector > 1 && forbidden(query, config)) config.vector /= 2;
    return config;
  }

  static std::vector<DepthwiseConfig> space(const DepthwiseQuery& query) {
    const DepthwiseTraits traits = traits_of(query.problem);
    std::vector<DepthwiseConfig> list = {default_config(query)};
    for (const int tile_width : {1, 2, 4, 8})
      for (const int tile_height : {1, 2, 3, 4, 7, 8})
        for (int vector = vector_for(traits, tile_width); vector >= 1; vector /= 2)
          for (const int block_threads : {64, 128, 256}) {
            const DepthwiseConfig config{
                .tile_width = tile_width, .tile_height = tile_height, .vector = vector, .block_threads = block_threads};
            if (!(config == list.front())) list.push_back(config);
          }
    return list;
  }

  /// The widest vectors, blocks of 128 threads.
  static std::vector<DepthwiseConfig> short_list(const DepthwiseQuery& query) {
    const DepthwiseTraits traits = traits_of(query.problem);
    std::vector<DepthwiseConfig> list = {default_config(query)};
    for (const int tile_width : {2, 4, 8})
      for (const int tile_height : {1, 2, 4, 7}) {
        const DepthwiseConfig config{.tile_width = tile_width,
                                     .tile_height = tile_height,
                                     .vector = vector_for(traits, tile_width),
                                     .block_threads = 128};
        if (!(config == list.front())) list.push_back(config);
      }
    return list;
  }

  static std::optional<std::string> forbidden(const DepthwiseQuery& query, const DepthwiseConfig& config) {
    return to_reason(reason_against(DepthwiseCase{query.problem, traits_of(query.problem), config}, depthwise_rules));
  }

  static TopologyNeeds needs(const DepthwiseQuery&, const DepthwiseConfig&) { return {}; }
  static std::int64_t workspace_bytes(const DepthwiseQuery&, const DepthwiseConfig&) { return 0; }

  static std::vector<Launch> launches(const DepthwiseQuery& query, const DepthwiseConfig& config,
                                      const TopologyPointers&) {
    const DepthwiseConvolution& problem = query.problem;
    DepthwiseArgs fixed{};
    fixed.planes = plane_count(problem);
    fixed.channels = problem.channels;
    fixed.height = problem.height;
    fixed.width = problem.width;
    fixed.output_height = problem.output_height();
    fixed.output_width = problem.output_width();
    fixed.top = problem.padding.top;
    fixed.left = problem.padding.left;
    return {Launch::of<DepthwiseArguments, DepthwiseArgs>(
        {.family = "depthwise_direct",
         .header = "conv/depthwise.h",
         .expression = codegen::name_expression("depthwise_direct", "DepthwiseTraits", traits_of(problem),
                                                "DepthwiseConfig", config)},
        {.grid = {}, .block = {static_cast<unsigned>(config.block_threads)}, .shared_bytes = 0},
        BindDepthwise{.fixed = fixed, .blocks = ceil_div(tile_count(problem, config), config.block_threads)})};
  }

  static double predict_us(const DepthwiseQuery& query, const DepthwiseConfig& config) {
    const DepthwiseConvolution& problem = query.problem;
    const DepthwiseTraits traits = traits_of(problem);
    const auto threads = static_cast<double>(tile_count(problem, config));
    const auto outputs = static_cast<double>(plane_count(problem) * problem.output_height() * problem.output_width());
    const auto inputs = static_cast<double>(plane_count(problem) * problem.height * problem.width);
    const int input_rows = (config.tile_height - 1) * traits.stride + traits.kernel;
    const double loads = threads * input_rows * row_vectors(traits, config);
    constexpr double loads_per_us = usual_multiprocessors * 32 * 1700.0;  // through L1, one for each lane
    const double bytes = (inputs + outputs) * size_of(problem.element);
    return stream::predict_us(query, bytes, threads) + loads / loads_per_us;
  }
};

}  // namespace

std::unique_ptr<Family> make_depthwise_direct() { return family_of<DepthwiseDirect>(); }

}  // namespace vostok::ops
