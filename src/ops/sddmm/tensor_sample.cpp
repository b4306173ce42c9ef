#include "ops/sddmm/tensor_sample.hpp"

#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sample_operands.hpp"
#include "ops/sddmm/sum_parts.hpp"

namespace vostok::ops {

namespace tensor_sample {

namespace {

static_assert(codegen::lists_every_field<TensorSampleTraits>(), "fields(TensorSampleTraits) must name every member");
static_assert(codegen::lists_every_field<TensorSampleConfig>(), "fields(TensorSampleConfig) must name every member");
static_assert(std::is_trivially_copyable_v<TensorSampleArgs> && sizeof(TensorSampleArgs) <= max_argument_bytes);

}  // namespace

std::int64_t prepared_bytes(const SddmmQuery& query, const TensorSampleConfig& config) {
  return prepared_rows(query, SampleWork::of(config), tile_shape(config)).bytes;
}

}  // namespace tensor_sample

namespace {

struct TensorSampleBinding {
  sampled::Binding sample;
  int tiles_per_block;

  device::Dim3 operator()(const SddmmArguments& call, TensorSampleArgs& args) const {
    args = sample.arguments(call);
    return grid_of(ceil_div(std::int64_t{sample.lists.tile_count}, tiles_per_block), sample.batch * sample.parts);
  }
};

Launch multiply_launch(const SddmmQuery& query, const TensorSampleConfig& config, const PreparedRowPair& prepared,
                       const TileLists& lists) {
  const TensorSampleTraits t = sampled::traits(query, config.n_split);
  codegen::KernelRequest request = {
      .family = "tensor_sample",
      .header = "sddmm/tensor_sample.h",
      .expression = codegen::name_expression("tensor_sample", "TensorSampleTraits", t, "TensorSampleConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  const TensorSampleBinding binding = {.sample = sampled::Binding::of(query, prepared, lists, config.n_split),
                                       .tiles_per_block = config.tiles_per_block};
  return Launch::of<SddmmArguments, TensorSampleArgs>(std::move(request), shape, binding);
}

struct TensorSample {
  using Query = SddmmQuery;
  using Config = TensorSampleConfig;
  static constexpr std::string_view name = "tensor_sample";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }
  static constexpr const char* why_not_there = "mma.sync of 16 x 8 x 16 and cp.async came with sm_80";

  static constexpr auto declines = tensor_sample::declines;
  static constexpr auto default_config = tensor_sample::default_config;
  static constexpr auto space = tensor_sample::space;
  static constexpr auto short_list = tensor_sample::short_list;
  static constexpr auto forbidden = tensor_sample::forbidden;
  static constexpr auto predict_us = tensor_sample::predict_us;

  static TopologyNeeds needs(const SddmmQuery& query, const TensorSampleConfig& config) {
    return {.index = query.index, .tiles = tile_shape(config)};
  }

  static std::int64_t workspace_bytes(const SddmmQuery& query, const TensorSampleConfig& config) {
    return tensor_sample::prepared_bytes(query, config) + (config.n_split > 1 ? part_bytes(query, config.n_split) : 0);
  }

  static std::vector<Launch> launches(const SddmmQuery& query, const TensorSampleConfig& config,
                                      const TopologyPointers& topology) {
    const PreparedRowPair prepared = prepared_rows(query, SampleWork::of(config), tile_shape(config));
    std::vector<Launch> list;
    list.push_back(sample_operands_launch(query, SampleWork::of(config), prepared));
    list.push_back(multiply_launch(query, config, prepared, topology.tile_lists));
    if (config.n_split > 1) list.push_back(sum_parts_launch(query, config.n_split, prepared.bytes));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_tensor_sample() { return family_of<TensorSample>(); }

}  // namespace vostok::ops
