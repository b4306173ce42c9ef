#include "ops/spmm/sparse_vector.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/dense_operands.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/topology/pack_runs.hpp"
#include "ops/topology/packed_runs.hpp"

namespace vostok::ops {

namespace sparse_vector {

namespace {

static_assert(codegen::lists_every_field<SparseVectorTraits>(), "fields(SparseVectorTraits) must name every member");
static_assert(codegen::lists_every_field<SparseVectorConfig>(), "fields(SparseVectorConfig) must name every member");

/// Whether B's layout is the one that a block stages: packed rows of as many columns as slots have, or one column.
bool is_flat(const SpmmQuery& query) {
  const SizeRange& n = query.n;
  const std::int64_t leading = query.problem.dense_leading;
  if (!n.one_size() || n.most == 3) return false;
  if (query.problem.dense_layout == Layout::column_major) return n.most == 1;
  return leading == 0 || leading == n.most;
}

/// As dense_alignment of line_alignment.hpp, of a flat B.
int flat_alignment(const SpmmQuery& query) {
  const std::int64_t bytes = size_of(query.problem.element);
  const std::int64_t step = std::gcd(query.statistics.cols * query.n.most, query.problem.dense_stride) * bytes;
  return static_cast<int>(std::gcd(std::max<std::int64_t>(query.problem.alignment_bytes, bytes), step));
}

/// Fills the kernel's arguments from a call's.
struct Binding {
  PackedRuns runs;
  DenseOperands operands;
  std::int64_t value_stride;  ///< bytes
  int tile_rows;
  bool in_workspace;

  device::Dim3 operator()(const SpmmArguments& call, SparseVectorArgs& args) const {
    const StoredMatrix b = operands.dense(call.n);
    const StoredMatrix c = operands.output(call.n);
    args = {.runs = runs,
            .values = static_cast<const unsigned char*>(in_workspace ? call.workspace : call.packed.memory()),
            .dense = call.dense,
            .output = call.output,
            .residual = call.residual,
            .bias = call.bias,
            .device_scale = call.device_scale,
            .m = operands.m,
            .n = call.n,
            .k = operands.k,
            .dense_leading = b.leading,
            .output_leading = c.leading,
            .value_stride = value_stride,
            .dense_stride = b.stride,
            .output_stride = c.stride,
            .batch = static_cast<unsigned>(operands.batch),
            .scale = call.scale,
            .packs = in_workspace};
    return grid_of(ceil_div(operands.m, tile_rows), operands.batch);
  }
};

Launch multiply_launch(const SpmmQuery& query, const SparseVectorConfig& config, const TopologyPointers& topology) {
  const SparseVectorTraits t = traits(query);
  const Spmm& problem = query.problem;
  codegen::KernelRequest request = {
      .family = "sparse_vector",
      .header = "spmm/sparse_vector.h",
      .expression = codegen::name_expression("sparse_vector", "SparseVectorTraits", t, "SparseVectorConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(config.threads)}, .shared_bytes = shared_bytes(t, config)};
  const Binding binding = {
      .runs = topology.runs,
      .operands = DenseOperands::of(query),
      .value_stride = packed_sets(query) > 1 ? run_value_bytes(topology.runs.groups, problem.element) : 0,
      .tile_rows = config.tile_rows,
      .in_workspace = packs_in_workspace(query)};
  return Launch::of<SpmmArguments, SparseVectorArgs>(std::move(request), shape, binding);
}

Launch pack_launch(const SpmmQuery& query, const SparseVectorConfig& config, const TopologyPointers& topology) {
  const PackRuns what = {.element = query.problem.element,
                         .gap_bits = config.gap_bits,
                         .structure = topology.runs,
                         .value_stride = query.value_stride(),
                         .sets = packed_sets(query)};
  return pack_runs_launch<SpmmArguments>(
      what, [](const SpmmArguments& call) { return Packing{.values = call.values, .packed = call.workspace}; });
}

}  // namespace

SparseVectorTraits traits(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const Epilogue& epilogue = problem.epilogue;
  const bool flat = is_flat(query);
  return {.element = problem.element,
          .output = problem.output.value_or(problem.element),
          .batched = problem.batch > 1,
          .flat_dense = flat,
          .dense_layout = problem.dense_layout,
          .output_layout = problem.output_layout,
          .dense_alignment = flat ? flat_alignment(query) : dense_alignment(query),
          .bias = epilogue.bias,
          .activation = epilogue.activation,
          .scale = epilogue.scale,
          .residual = epilogue.residual,
          .accumulate = epilogue.accumulate,
          .bias_element = epilogue.bias_element.value_or(Dtype::f32)};
}

std::int64_t workspace_bytes(const SpmmQuery& query, const SparseVectorConfig& config) {
  if (!packs_in_workspace(query)) return 0;
  const std::int64_t groups = ceil_div(most_runs(query.statistics, config.gap_bits), group_runs());
  return checked_multiply(packed_sets(query), run_value_bytes(groups, query.problem.element), "bytes of packed values");
}

}  // namespace sparse_vector

namespace {

struct SparseVector {
  using Query = SpmmQuery;
  using Config = SparseVectorConfig;
  static constexpr std::string_view name = "sparse_vector";

  static constexpr auto declines = sparse_vector::declines;
  static constexpr auto default_config = sparse_vector::default_config;
  static constexpr auto space = sparse_vector::space;
  static constexpr auto short_list = sparse_vector::short_list;
  static constexpr auto forbidden = sparse_vector::forbidden;
  static constexpr auto predict_us = sparse_vector::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const SparseVectorConfig& config) {
    return {.index = query.index,
            .transposed = query.problem.sparse_transposed,
            .run_gap_bits = config.gap_bits,
            .packing = packs_in_workspace(query)};
  }
  static std::string packed_format(const SpmmQuery& query, const SparseVectorConfig& config) {
    return runs_format(config.gap_bits, query.problem.element);
  }
  static constexpr auto workspace_bytes = sparse_vector::workspace_bytes;

  static std::vector<Launch> launches(const SpmmQuery& query, const SparseVectorConfig& config,
                                      const TopologyPointers& topology) {
    std::vector<Launch> list;
    if (packs_in_workspace(query)) list.push_back(sparse_vector::pack_launch(query, config, topology));
    list.push_back(sparse_vector::multiply_launch(query, config, topology));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_sparse_vector() { return family_of<SparseVector>(); }

}  // namespace vostok::ops
