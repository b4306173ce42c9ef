#include "ops/sddmm/tensor_sample.hpp"

#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
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

class TensorSample final : public FamilyOf<SddmmQuery, TensorSampleConfig> {
 public:
  std::string_view name() const override { return "tensor_sample"; }
  bool runs_on(std::string_view architecture) const override { return architecture != "sm_75"; }

 protected:
  std::optional<std::string> declines(const SddmmQuery& query) const override {
    if (query.device != nullptr && !runs_on(query.device->architecture()))
      return "mma.sync of 16 x 8 x 16 and cp.async came with sm_80";
    return tensor_sample::declines(query);
  }
  TensorSampleConfig default_config(const SddmmQuery& query) const override {
    return tensor_sample::default_config(query);
  }
  std::vector<TensorSampleConfig> space(const SddmmQuery& query) const override { return tensor_sample::space(query); }
  std::vector<TensorSampleConfig> short_list(const SddmmQuery& query) const override {
    return tensor_sample::short_list(query);
  }
  std::optional<std::string> forbidden(const SddmmQuery& query, const TensorSampleConfig& config) const override {
    return tensor_sample::forbidden(query, config);
  }
  double predict_us(const SddmmQuery& query, const TensorSampleConfig& config) const override {
    return tensor_sample::predict_us(query, config);
  }

  TopologyNeeds needs(const SddmmQuery& query, const TensorSampleConfig& config) const override {
    return {.index = query.index, .tiles = tile_shape(config)};
  }

  std::int64_t workspace_bytes(const SddmmQuery& query, const TensorSampleConfig& config) const override {
    return tensor_sample::prepared_bytes(query, config) + (config.n_split > 1 ? part_bytes(query, config.n_split) : 0);
  }

  std::vector<Launch> launches(const SddmmQuery& query, const TensorSampleConfig& config,
                               const TopologyPointers& topology) const override {
    const PreparedRowPair prepared = prepared_rows(query, SampleWork::of(config), tile_shape(config));
    std::vector<Launch> list;
    list.push_back(sample_operands_launch(query, SampleWork::of(config), prepared));
    list.push_back(multiply_launch(query, config, prepared, topology.tile_lists));
    if (config.n_split > 1) list.push_back(sum_parts_launch(query, config.n_split, prepared.bytes));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_tensor_sample() { return std::make_unique<TensorSample>(); }

}  // namespace vostok::ops
