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

class SparseTensorMma final : public FamilyOf<SpmmQuery, SparseTensorMmaConfig> {
 public:
  std::string_view name() const override { return "sparse_tensor_mma"; }
  bool runs_on(std::string_view architecture) const override { return architecture != "sm_75"; }

 protected:
  std::optional<std::string> declines(const SpmmQuery& query) const override {
    if (query.device != nullptr && !runs_on(query.device->architecture()))
      return "mma.sp of 16 x 8 x 32 and cp.async came with sm_80";
    return sparse_tensor_mma::declines(query);
  }
  SparseTensorMmaConfig default_config(const SpmmQuery& query) const override {
    return sparse_tensor_mma::default_config(query);
  }
  std::vector<SparseTensorMmaConfig> space(const SpmmQuery& query) const override {
    return sparse_tensor_mma::space(query);
  }
  std::vector<SparseTensorMmaConfig> short_list(const SpmmQuery& query) const override {
    return sparse_tensor_mma::short_list(query);
  }
  std::optional<std::string> forbidden(const SpmmQuery& query, const SparseTensorMmaConfig& config) const override {
    return sparse_tensor_mma::forbidden(query, config);
  }
  double predict_us(const SpmmQuery& query, const SparseTensorMmaConfig& config) const override {
    return sparse_tensor_mma::predict_us(query, config);
  }

  TopologyNeeds needs(const SpmmQuery& query, const SparseTensorMmaConfig&) const override {
    return sparse_tensor::needs(query);
  }
  std::string packed_format(const SpmmQuery& query, const SparseTensorMmaConfig&) const override {
    return sparse_format(query.problem.element);
  }

  std::int64_t workspace_bytes(const SpmmQuery& query, const SparseTensorMmaConfig& config) const override {
    return sparse_tensor_mma::workspace(query, config).bytes;
  }

  std::vector<Launch> launches(const SpmmQuery& query, const SparseTensorMmaConfig& config,
                               const TopologyPointers& topology) const override {
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

std::unique_ptr<Family> make_sparse_tensor_mma() { return std::make_unique<SparseTensorMma>(); }

}  // namespace vostok::ops
