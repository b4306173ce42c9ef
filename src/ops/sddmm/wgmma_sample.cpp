#include "ops/sddmm/wgmma_sample.hpp"

#include <algorithm>
#include <type_traits>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/machine.hpp"
#include "ops/sddmm/sample_launch.hpp"
#include "ops/sddmm/sum_parts.hpp"
#include "ops/tensor_maps.hpp"

namespace vostok::ops {

namespace wgmma_sample {

namespace {

static_assert(codegen::lists_every_field<WgmmaSampleConfig>(), "fields(WgmmaSampleConfig) must name every member");

}  // namespace

TensorSampleTraits traits(const SddmmQuery& query, const WgmmaSampleConfig& config, int n_split) {
  TensorSampleTraits t = sampled::traits(query, n_split);
  if (!config.tensor_copies) return t;
  t.lhs_layout = query.problem.lhs_layout;
  t.rhs_layout = query.problem.rhs_layout;
  return t;
}

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

/// With the operands' maps behind the arguments.
struct MappedSampleBinding {
  WgmmaSampleBinding binding;
  MappedMatrices lhs;
  MappedMatrices rhs;

  device::Dim3 operator()(const SddmmArguments& call, PairMappedArgs<WgmmaSampleArgs>& args) const {
    const device::Dim3 grid = binding(call, static_cast<WgmmaSampleArgs&>(args));
    args.lhs_map.boxes = lhs.of(call.lhs);
    args.rhs_map.boxes = rhs.of(call.rhs);
    return grid;
  }
};

/// Whether blocks of a tile each follow blocks that had a multiprocessor each: of these the first to end would be
/// followed by two blocks, and others by none (bench/notes/sddmm.md#tiles-that-follow-lone-blocks).
bool follows_lone_blocks(const SddmmQuery& query, const WgmmaSampleConfig& config, const PreparedRowPair& prepared) {
  const auto multiprocessors = static_cast<std::int64_t>(machine_of(query).multiprocessors);
  return config.waves == 0 && config.n_split == 1 &&
         (prepared.lhs.octets + prepared.rhs.octets) * query.problem.batch <= multiprocessors;
}

Launch multiply_launch(const SddmmQuery& query, const WgmmaSampleConfig& config, const PreparedRowPair& prepared,
                       const TileLists& lists) {
  const TensorSampleTraits t = wgmma_sample::traits(query, config, config.n_split);
  codegen::KernelRequest request = {
      .family = "wgmma_sample",
      .header = "sddmm/wgmma_sample.h",
      .expression = codegen::name_expression("wgmma_sample", "TensorSampleTraits", t, "WgmmaSampleConfig", config),
      .features = "a"};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  const WgmmaSampleBinding binding = {.sample = sampled::Binding::of(query, prepared, lists, config.n_split),
                                      .most_shares = wgmma_sample::most_shares(query, config)};
  if (!config.tensor_copies) {
    Launch launch = Launch::of<SddmmArguments, WgmmaSampleArgs>(std::move(request), shape, binding);
    if (!follows_lone_blocks(query, config, prepared)) return launch;
    return launch.spread(query.device, lists.tile_count * query.problem.batch);
  }
  const Sddmm& problem = query.problem;
  // Boxes of 64 n by all rows of a tile or, of a column-major operand, 64 rows by 64 n.
  const auto mapped = [&](const StoredMatrix& stored, Layout layout, int tile_rows) {
    return MappedMatrices{stored, problem.batch, problem.element,
                          layout == Layout::row_major ? tile_rows : sample_block()};
  };
  const MappedSampleBinding with_maps = {.binding = binding,
                                         .lhs = mapped(query.lhs(), problem.lhs_layout, tile_rows(config)),
                                         .rhs = mapped(query.rhs(), problem.rhs_layout, tile_columns(config))};
  return Launch::of<SddmmArguments, PairMappedArgs<WgmmaSampleArgs>>(std::move(request), shape, with_maps);
}

/// Nothing where the operands are copied from where they lie.
PreparedRowPair prepared_rows(const SddmmQuery& query, const WgmmaSampleConfig& config) {
  if (config.tensor_copies) return {};
  return prepared_rows(query, SampleWork::of(config), tile_shape(config));
}

struct WgmmaSample {
  using Query = SddmmQuery;
  using Config = WgmmaSampleConfig;
  static constexpr std::string_view name = "wgmma_sample";
  static bool runs_on(std::string_view architecture) { return architecture == "sm_90"; }
  static constexpr const char* why_not_there = "wgmma is an instruction of sm_90a alone";

  static constexpr auto declines = wgmma_sample::declines;
  static constexpr auto default_config = wgmma_sample::default_config;
  static constexpr auto space = wgmma_sample::space;
  static constexpr auto short_list = wgmma_sample::short_list;
  static constexpr auto forbidden = wgmma_sample::forbidden;
  static constexpr auto predict_us = wgmma_sample::predict_us;

  static TopologyNeeds needs(const SddmmQuery& query, const WgmmaSampleConfig& config) {
    return {.index = query.index, .tiles = tile_shape(config)};
  }

  static std::int64_t workspace_bytes(const SddmmQuery& query, const WgmmaSampleConfig& config) {
    return prepared_rows(query, config).bytes + (config.n_split > 1 ? part_bytes(query, config.n_split) : 0);
  }

  static std::vector<Launch> launches(const SddmmQuery& query, const WgmmaSampleConfig& config,
                                      const TopologyPointers& topology) {
    const PreparedRowPair prepared = prepared_rows(query, config);
    std::vector<Launch> list;
    if (!config.tensor_copies) list.push_back(sample_operands_launch(query, SampleWork::of(config), prepared));
    list.push_back(multiply_launch(query, config, prepared, topology.tile_lists));
    if (config.n_split > 1) list.push_back(sum_parts_launch(query, config.n_split, prepared.bytes));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_wgmma_sample() { return family_of<WgmmaSample>(); }

}  // namespace vostok::ops
