#include "ops/sddmm/wgmma_sample.hpp"

#include <algorithm>
#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/grid.hpp"
#include "ops/machine.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sum_parts.hpp"

namespace vostok::ops {

namespace wgmma_sample {

namespace {

static_assert(codegen::lists_every_field<WgmmaSampleConfig>(), "fields(WgmmaSampleConfig) must name every member");
static_assert(std::is_trivially_copyable_v<WgmmaSampleArgs> && sizeof(WgmmaSampleArgs) <= max_argument_bytes);

}  // namespace

std::int64_t most_shares(const SddmmQuery& query, const WgmmaSampleConfig& config) {
  if (config.waves == 0) return 0;
  const auto places = static_cast<std::int64_t>(machine_of(query).multiprocessors) * config.min_blocks * config.waves;
  return std::max<std::int64_t>(1, places / (query.problem.batch * config.n_split));
}

}  // namespace wgmma_sample

namespace {

struct WgmmaSampleBinding {
  sampled::Binding sample;
  std::int64_t most_shares;

  device::Dim3 operator()(const SddmmArguments& call, WgmmaSampleArgs& args) const {
    const std::int64_t tiles = sample.lists.tile_count;
    const std::int64_t own = most_shares == 0 ? 1 : std::max<std::int64_t>(1, ceil_div(tiles, most_shares));
    args = {.sample = sample.arguments(call), .tiles_per_block = static_cast<unsigned>(own)};
    return grid_of(ceil_div(tiles, own), sample.batch * sample.parts);
  }
};

Launch multiply_launch(const SddmmQuery& query, const WgmmaSampleConfig& config, const PreparedRowPair& prepared,
                       const TileLists& lists) {
  const TensorSampleTraits t = sampled::traits(query, config.n_split);
  codegen::KernelRequest request = {
      .family = "wgmma_sample",
      .header = "sddmm/wgmma_sample.h",
      .expression = codegen::name_expression("wgmma_sample", "TensorSampleTraits", t, "WgmmaSampleConfig", config),
      .features = "a"};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  const WgmmaSampleBinding binding = {.sample = sampled::Binding::of(query, prepared, lists, config.n_split),
                                      .most_shares = wgmma_sample::most_shares(query, config)};
  return Launch::of<SddmmArguments, WgmmaSampleArgs>(std::move(request), shape, binding);
}

class WgmmaSample final : public FamilyOf<SddmmQuery, WgmmaSampleConfig> {
 public:
  std::string_view name() const override { return "wgmma_sample"; }
  bool runs_on(std::string_view architecture) const override { return architecture == "sm_90"; }

 protected:
  std::optional<std::string> declines(const SddmmQuery& query) const override {
    if (query.device != nullptr && !runs_on(query.device->architecture()))
      return "wgmma is an instruction of sm_90a alone";
    return wgmma_sample::declines(query);
  }
  WgmmaSampleConfig default_config(const SddmmQuery& query) const override {
    return wgmma_sample::default_config(query);
  }
  std::vector<WgmmaSampleConfig> space(const SddmmQuery& query) const override { return wgmma_sample::space(query); }
  std::vector<WgmmaSampleConfig> short_list(const SddmmQuery& query) const override {
    return wgmma_sample::short_list(query);
  }
  std::optional<std::string> forbidden(const SddmmQuery& query, const WgmmaSampleConfig& config) const override {
    return wgmma_sample::forbidden(query, config);
  }
  double predict_us(const SddmmQuery& query, const WgmmaSampleConfig& config) const override {
    return wgmma_sample::predict_us(query, config);
  }

  TopologyNeeds needs(const SddmmQuery& query, const WgmmaSampleConfig& config) const override {
    return {.index = query.index, .tiles = tile_shape(config)};
  }

  std::int64_t workspace_bytes(const SddmmQuery& query, const WgmmaSampleConfig& config) const override {
    return prepared_rows(query, SampleWork::of(config), tile_shape(config)).bytes +
           (config.n_split > 1 ? part_bytes(query, config.n_split) : 0);
  }

  std::vector<Launch> launches(const SddmmQuery& query, const WgmmaSampleConfig& config,
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

std::unique_ptr<Family> make_wgmma_sample() { return std::make_unique<WgmmaSample>(); }

}  // namespace vostok::ops
