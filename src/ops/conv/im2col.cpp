#include <abi/im2col.h>

#include "codegen/expression.hpp"
#include "ops/conv/problem.hpp"
#include "ops/conv/stream.hpp"
#include "ops/families.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<Im2colTraits>(), "fields(Im2colTraits) must name every member");
static_assert(codegen::lists_every_field<Im2colConfig>(), "fields(Im2colConfig) must name every member");

struct BindIm2col {
  Im2colArgs fixed;
  std::int64_t blocks;

  device::Dim3 operator()(const Im2colArguments& call, Im2colArgs& args) const {
    args = fixed;
    args.input = call.input;
    args.output = call.output;
    return grid_of(blocks, 1);
  }
};

std::int64_t pixel_count(const Im2col& problem) { return problem.output_height() * problem.output_width(); }

std::int64_t element_count(const Im2col& problem) {
  return problem.batch * problem.channels * problem.kernel_height * problem.kernel_width * pixel_count(problem);
}

Im2colTraits traits_of(const Im2col& problem) {
  return {.element = problem.element,
          .kernel_height = problem.kernel_height,
          .kernel_width = problem.kernel_width,
          .stride = problem.stride,
          .widest_vector = stream::widest_vector(pixel_count(problem), problem.alignment_bytes, problem.element),
          .wide_indices = stream::needs_wide_indices(element_count(problem))};
}

struct Im2colGather : stream::StreamFamily<Im2colQuery, Im2colTraits, Im2colConfig, traits_of, element_count> {
  static constexpr std::string_view name = "im2col_gather";

  static std::vector<Launch> launches(const Im2colQuery& query, const Im2colConfig& config, const TopologyPointers&) {
    const Im2col& problem = query.problem;
    const Im2colArgs fixed{.input = nullptr,
                           .output = nullptr,
                           .elements = element_count(problem),
                           .height = problem.height,
                           .width = problem.width,
                           .output_width = problem.output_width(),
                           .pixels = pixel_count(problem),
                           .top = problem.padding.top,
                           .left = problem.padding.left};
    return {Launch::of<Im2colArguments, Im2colArgs>(
        {.family = "im2col_gather",
         .header = "conv/im2col.h",
         .expression =
             codegen::name_expression("im2col_gather", "Im2colTraits", traits_of(problem), "Im2colConfig", config)},
        {.grid = {}, .block = {static_cast<unsigned>(config.block_threads)}, .shared_bytes = 0},
        BindIm2col{.fixed = fixed, .blocks = stream::blocks(config, fixed.elements)})};
  }

  static double predict_us(const Im2colQuery& query, const Im2colConfig& config) {
    const auto count = static_cast<double>(element_count(query.problem));
    const double threads = count / config.vector / config.vectors_per_thread;
    return stream::predict_us(query, count * size_of(query.problem.element), threads);
  }
};

}  // namespace

std::unique_ptr<Family> make_im2col_gather() { return family_of<Im2colGather>(); }

}  // namespace vostok::ops
