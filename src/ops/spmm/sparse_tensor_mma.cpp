#include "ops/spmm/sparse_tensor_mma.hpp"

#include <utility>

#include "codegen/expression.hpp"

namespace vostok::ops {

namespace sparse_tensor_mma {

namespace {

static_assert(codegen::lists_every_field<SparseTensorMmaConfig>(),
              "fields(SparseTensorMmaConfig) must name every member");

Launch multiply_launch(const SpmmQuery& query, const SparseTensorMmaConfig& config, const TopologyPointers& topology) {
  const SparseTensorTraits t = sparse_tensor::traits(query, config.k_split);
  codegen::KernelRequest request = {.family = "sparse_tensor_mma",
                                    .header = "spmm/sparse_tensor_mma.h",
                                    .expression = codegen::name_expression("sparse_tensor_mma", "SparseTensorTraits", t,
                                                                           "SparseTensorMmaConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  return Launch::of<SpmmArguments, SparseTensorArgs>(
      std::move(request), shape, sparse_tensor::binding(query, workspace(query, config).product, topology));
}

}  // namespace

sparse_tensor::Workspace workspace(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
  return sparse_tensor::workspace(query, {.tile_rows = tile_rows(config),
                                          .tile_columns = tile_columns(config),
                                          .k_split = config.k_split,
                                          .stream_output = config.stream_output});
}

}  // namespace sparse_tensor_mma

namespace {

struct SparseTensorMma {
  using Query = SpmmQuery;
  using Config = SparseTensorMmaConfig;
  static constexpr std::string_view name = "sparse_tensor_mma";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }
  static constexpr const char* why_not_there = "mma.sp of 16 x 8 x 32 and cp.async came with sm_80";

  static constexpr auto declines = sparse_tensor_mma::declines;
  static constexpr auto default_config = sparse_tensor_mma::default_config;
  static constexpr auto space = sparse_tensor_mma::space;
  static constexpr auto short_list = sparse_tensor_mma::short_list;
  static constexpr auto forbidden = sparse_tensor_mma::forbidden;
  static constexpr auto predict_us = sparse_tensor_mma::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const SparseTensorMmaConfig&) {
    return sparse_tensor::needs(query);
  }
  static std::string packed_format(const SpmmQuery& query, const SparseTensorMmaConfig&) {
    return sparse_format(query.problem.element);
  }

  static std::int64_t workspace_bytes(const SpmmQuery& query, const SparseTensorMmaConfig& config) {
    return sparse_tensor_mma::workspace(query, config).bytes;
  }

  static std::vector<Launch> launches(const SpmmQuery& query, const SparseTensorMmaConfig& config,
                                      const TopologyPointers& topology) {
    std::vector<Launch> list;
    if (packs_in_workspace(query)) list.push_back(pack_sparse_launch(query, topology));
    list.push_back(sparse_tensor_mma::multiply_launch(query, config, topology));
    if (config.k_split > 1)
      list.push_back(unpack_sum_launch(query, sparse_tensor_mma::workspace(query, config).product,
                                       sparse_tensor::sums_again(query, topology)));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_sparse_tensor_mma() { return family_of<SparseTensorMma>(); }

}  // namespace vostok::ops
