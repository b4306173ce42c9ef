#include "ops/spmm/sparse_tensor_wgmma.hpp"

#include <utility>

#include "codegen/expression.hpp"
#include "ops/families.hpp"
#include "ops/spmm/dense_map.hpp"

namespace vostok::ops {

namespace sparse_tensor_wgmma {

namespace {

static_assert(codegen::lists_every_field<SparseTensorWgmmaConfig>(),
              "fields(SparseTensorWgmmaConfig) must name every member");

Launch multiply_launch(const SpmmQuery& query, const SparseTensorWgmmaConfig& config,
                       const TopologyPointers& topology) {
  const SparseTensorTraits t = sparse_tensor::traits(query, launched_slices(config));
  codegen::KernelRequest request = {.family = "sparse_tensor_wgmma",
                                    .header = "spmm/sparse_tensor_wgmma.h",
                                    .expression = codegen::name_expression("sparse_tensor_wgmma", "SparseTensorTraits",
                                                                           t, "SparseTensorWgmmaConfig", config),
                                    .features = "a"};
  const device::LaunchShape shape = {.grid = {},
                                     .block = {static_cast<unsigned>(threads(config))},
                                     .shared_bytes = shared_bytes(t, config),
                                     .cluster = static_cast<unsigned>(tile_parts(config).blocks)};
  const DenseBoxes boxes = {.layout = t.dense_layout, .element = t.element, .tile_columns = config.tile_columns};
  return launch_maybe_mapped<SparseTensorArgs>(
      std::move(request), shape, sparse_tensor::binding(query, workspace(query, config).product, topology),
      config.tensor_copies, boxes);
}

}  // namespace

sparse_tensor::Workspace workspace(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
  return sparse_tensor::workspace(query, {.tile_rows = tile_rows(config),
                                          .tile_columns = config.tile_columns,
                                          .k_split = config.k_split,
                                          .cluster_sums = config.cluster_sums,
                                          .stream_output = config.stream_output});
}

}  // namespace sparse_tensor_wgmma

namespace {

struct SparseTensorWgmma {
  using Query = SpmmQuery;
  using Config = SparseTensorWgmmaConfig;
  static constexpr std::string_view name = "sparse_tensor_wgmma";
  static bool runs_on(std::string_view architecture) { return architecture == "sm_90"; }
  static constexpr const char* why_not_there = "wgmma is an instruction of sm_90a alone";

  static constexpr auto declines = sparse_tensor_wgmma::declines;
  static constexpr auto default_config = sparse_tensor_wgmma::default_config;
  static constexpr auto space = sparse_tensor_wgmma::space;
  static constexpr auto short_list = sparse_tensor_wgmma::short_list;
  static constexpr auto forbidden = sparse_tensor_wgmma::forbidden;
  static constexpr auto predict_us = sparse_tensor_wgmma::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const SparseTensorWgmmaConfig&) {
    return sparse_tensor::needs(query);
  }
  static std::string packed_format(const SpmmQuery& query, const SparseTensorWgmmaConfig&) {
    return sparse_format(query.problem.element);
  }

  static std::int64_t workspace_bytes(const SpmmQuery& query, const SparseTensorWgmmaConfig& config) {
    return sparse_tensor_wgmma::workspace(query, config).bytes;
  }

  static std::vector<Launch> launches(const SpmmQuery& query, const SparseTensorWgmmaConfig& config,
                                      const TopologyPointers& topology) {
    std::vector<Launch> list;
    if (packs_in_workspace(query)) list.push_back(pack_sparse_launch(query, topology));
    list.push_back(sparse_tensor_wgmma::multiply_launch(query, config, topology));
    if (launched_slices(config) > 1)
      list.push_back(unpack_sum_launch(query, sparse_tensor_wgmma::workspace(query, config).product,
                                       sparse_tensor::sums_again(query, topology)));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_sparse_tensor_wgmma() { return family_of<SparseTensorWgmma>(); }

}  // namespace vostok::ops
