#include "ops/sddmm/sum_parts.hpp"

#include <type_traits>

#include <abi/sum_parts.h>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/grid.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<SumPartsTraits>(), "fields(SumPartsTraits) must name every member");
static_assert(codegen::lists_every_field<SumPartsConfig>(), "fields(SumPartsConfig) must name every member");
static_assert(std::is_trivially_copyable_v<SumPartsArgs> && sizeof(SumPartsArgs) <= max_argument_bytes);

struct SumPartsBinding {
  std::int64_t workspace_offset;
  std::int64_t nonzeros;
  std::int64_t output_stride;
  std::int64_t multiplier_stride;
  std::int64_t batch;
  int parts;
  int threads;

  device::Dim3 operator()(const SddmmArguments& call, SumPartsArgs& args) const {
    args = {.partial = static_cast<const float*>(workspace_at(call.workspace, workspace_offset)),
            .output = call.output,
            .multiplier = call.multiplier,
            .device_scale = call.device_scale,
            .nonzeros = nonzeros,
            .output_stride = output_stride,
            .multiplier_stride = multiplier_stride,
            .batch = batch,
            .parts = parts,
            .scale = call.scale};
    return grid_of(ceil_div(nonzeros, threads), batch);
  }
};

}  // namespace

std::int64_t part_bytes(const SddmmQuery& query, int parts) {
  constexpr const char* what = "the bytes of the parts of sums";
  return checked_multiply(checked_multiply(query.problem.batch * parts, query.statistics.nonzeros, what), sizeof(float),
                          what);
}

Launch sum_parts_launch(const SddmmQuery& query, int parts, std::int64_t workspace_offset) {
  const Sddmm& problem = query.problem;
  const SumPartsTraits traits = {.element = problem.element,
                                 .output = problem.output.value_or(problem.element),
                                 .scale = problem.scale,
                                 .multiply = problem.multiply,
                                 .accumulate = problem.accumulate};
  const SumPartsConfig config;
  codegen::KernelRequest request = {
      .family = "sum_parts",
      .header = "sddmm/sum_parts.h",
      .expression = codegen::name_expression("sum_parts", "SumPartsTraits", traits, "SumPartsConfig", config)};
  const device::LaunchShape shape = {.grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = 0};
  const SumPartsBinding binding = {.workspace_offset = workspace_offset,
                                   .nonzeros = query.statistics.nonzeros,
                                   .output_stride = query.output().stride,
                                   .multiplier_stride = problem.multiplier_stride,
                                   .batch = problem.batch,
                                   .parts = parts,
                                   .threads = config.threads};
  return Launch::of<SddmmArguments, SumPartsArgs>(std::move(request), shape, binding);
}

}  // namespace vostok::ops
