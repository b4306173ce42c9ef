#include "ops/sddmm/tensor_sample.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/grid.hpp"
#include "ops/sddmm/sample_operands.hpp"
#include "ops/sddmm/sum_parts.hpp"

namespace vostok::ops {

namespace tensor_sample {

namespace {

static_assert(codegen::lists_every_field<TensorSampleTraits>(), "fields(TensorSampleTraits) must name every member");
static_assert(codegen::lists_every_field<TensorSampleConfig>(), "fields(TensorSampleConfig) must name every member");
static_assert(std::is_trivially_copyable_v<TensorSampleArgs> && sizeof(TensorSampleArgs) <= max_argument_bytes);

}  // namespace

TensorSampleTraits traits(const SddmmQuery& query) {
  const Sddmm& problem = query.problem;
  return {.element = problem.element,
          .output = problem.output.value_or(problem.element),
          .one_block = problem.n <= sample_block,
          .scale = problem.scale,
          .multiply = problem.multiply,
          .accumulate = problem.accumulate};
}

std::int64_t n_steps(const SddmmQuery& query) { return ceil_div(query.problem.n, 16); }
std::int64_t n_blocks(const SddmmQuery& query) { return ceil_div(query.problem.n, sample_block); }
std::int64_t part_blocks(const SddmmQuery& query, const TensorSampleConfig& config) { return ceil_div(n_blocks(query), config.n_split); }

std::int64_t prepared_bytes(const SddmmQuery& query, const TensorSampleConfig& config) {
  return prepared_rows(query, config.mode, tile_shape(config)).bytes;
}

double expected_tiles(const SddmmQuery& query, const TileShape& shape) {
  const TopologyStatistics& s = query.statistics;
  const double all = static_cast<double>(ceil_div(s.rows, shape.rows)) * static_cast<double>(ceil_div(s.cols, shape.columns));
  if (all == 0) return 0;
  return all * (1 - std::exp(-static_cast<double>(s.nonzeros) / all));
}

double expected_entries(const SddmmQuery& query, const TileShape& shape) {
  return static_cast<double>(query.statistics.nonzeros) / std::max(expected_tiles(query, shape), 1.0);
}

}  // namespace tensor_sample

namespace {

struct TensorSampleBinding {
  TileLists lists;
  PreparedRows lhs;
  PreparedRows rhs;
  std::int64_t output_stride;
  std::int64_t multiplier_stride;
  std::int64_t parts_offset_bytes;
  std::int64_t n_steps;
  std::int64_t part_blocks;
  std::int64_t batch;
  int parts;
  int tiles_per_block;

  device::Dim3 operator()(const SddmmArguments& call, TensorSampleArgs& args) const {
    args = {.lists = lists,
            .lhs = lhs.operand(call.workspace),
            .rhs = rhs.operand(call.workspace),
            .output = parts > 1 ? workspace_at(call.workspace, parts_offset_bytes) : call.output,
            .multiplier = call.multiplier,
            .device_scale = call.device_scale,
            .output_stride = output_stride,
            .multiplier_stride = multiplier_stride,
            .n_steps = static_cast<unsigned>(n_steps),
            .part_blocks = static_cast<unsigned>(part_blocks),
            .batch = static_cast<unsigned>(batch),
            .scale = call.scale};
    return grid_of(ceil_div(std::int64_t{lists.tile_count}, tiles_per_block), batch * parts);
  }
};

/// A kernel that writes parts of sums leaves what is done to whole ones to the kernel that adds them.
TensorSampleTraits kernel_traits(const SddmmQuery& query, const TensorSampleConfig& config) {
  TensorSampleTraits t = tensor_sample::traits(query);
  if (config.n_split == 1) return t;
  t.output = Dtype::f32;
  t.scale = Scale::one;
  t.multiply = t.accumulate = false;
  return t;
}

Launch multiply_launch(const SddmmQuery& query, const TensorSampleConfig& config, const PreparedRowPair& prepared, const TileLists& lists) {
  const TensorSampleTraits t = kernel_traits(query, config);
  codegen::KernelRequest request = {.family = "tensor_sample",
                                    .header = "sddmm/tensor_sample.h",
                                    .expression = codegen::name_expression("tensor_sample", "TensorSampleTraits", t, "TensorSampleConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config), .waits_for_previous = true};
  const TensorSampleBinding binding = {.lists = lists,
                                       .lhs = prepared.lhs,
                                       .rhs = prepared.rhs,
                                       .output_stride = config.n_split > 1 ? query.statistics.nonzeros : query.output().stride,
                                       .multiplier_stride = query.problem.multiplier_stride,
                                       .parts_offset_bytes = prepared.bytes,
                                       .n_steps = tensor_sample::n_steps(query),
                                       .part_blocks = tensor_sample::part_blocks(query, config),
                                       .batch = query.problem.batch,
                                       .parts = config.n_split,
                                       .tiles_per_block = config.tiles_per_block};
  return Launch::of<SddmmArguments, TensorSampleArgs>(std::move(request), shape, binding);
}

class TensorSample final : public FamilyOf<SddmmQuery, TensorSampleConfig> {
 public:
  std::string_view name() const override { return "tensor_sample"; }
  bool runs_on(std::string_view architecture) const override { return architecture != "sm_75"; }

 protected:
  std::optional<std::string> declines(const SddmmQuery& query) const override {
    if (query.device != nullptr && !runs_on(query.device->architecture())) return "mma.sync of 16 x 8 x 16 and cp.async came with sm_80";
    return tensor_sample::declines(query);
  }
  TensorSampleConfig default_config(const SddmmQuery& query) const override { return tensor_sample::default_config(query); }
  std::vector<TensorSampleConfig> space(const SddmmQuery& query) const override { return tensor_sample::space(query); }
  std::vector<TensorSampleConfig> short_list(const SddmmQuery& query) const override { return tensor_sample::short_list(query); }
  std::optional<std::string> forbidden(const SddmmQuery& query, const TensorSampleConfig& config) const override {
    return tensor_sample::forbidden(query, config);
  }
  double predict_us(const SddmmQuery& query, const TensorSampleConfig& config) const override { return tensor_sample::predict_us(query, config); }

  TopologyNeeds needs(const SddmmQuery& query, const TensorSampleConfig& config) const override {
    return {.index = query.index, .tiles = tile_shape(config)};
  }

  std::int64_t workspace_bytes(const SddmmQuery& query, const TensorSampleConfig& config) const override {
    return tensor_sample::prepared_bytes(query, config) + (config.n_split > 1 ? part_bytes(query, config.n_split) : 0);
  }

  std::vector<Launch> launches(const SddmmQuery& query, const TensorSampleConfig& config, const TopologyPointers& topology) const override {
    const PreparedRowPair prepared = prepared_rows(query, config.mode, tile_shape(config));
    std::vector<Launch> list;
    list.push_back(sample_operands_launch(query, config.mode, prepared));
    list.push_back(multiply_launch(query, config, prepared, topology.tile_lists));
    if (config.n_split > 1) list.push_back(sum_parts_launch(query, config.n_split, prepared.bytes));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_tensor_sample() { return std::make_unique<TensorSample>(); }

}  // namespace vostok::ops
