#include "ops/spmm/unpack_wgmma.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/dense_map.hpp"
#include "ops/spmm/dense_operands.hpp"
#include "ops/spmm/dense_rows.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/output_traits.hpp"
#include "ops/spmm/packed_operand.hpp"

namespace vostok::ops {

namespace unpack_wgmma {

namespace {

static_assert(codegen::lists_every_field<UnpackWgmmaTraits>(), "fields(UnpackWgmmaTraits) must name every member");
static_assert(codegen::lists_every_field<UnpackWgmmaConfig>(), "fields(UnpackWgmmaConfig) must name every member");

/// Fills the kernel's arguments from a call's.
struct Binding {
  PackedOperand packed;
  SplitDense split;
  SlicedProduct product;
  DenseOperands operands;
  std::int64_t slice_blocks;
  Dtype element;
  bool prepares;
  bool transposes;
  bool keeps_dense;  ///< then blocks share column tiles

  device::Dim3 operator()(const SpmmArguments& call, UnpackWgmmaArgs& args) const {
    const StoredMatrix own = operands.dense(call.n);
    const StoredMatrix b = transposes ? dense_rows(operands.k, call.n, element) : own;
    const StoredMatrix c = operands.output(call.n);
    const std::int64_t row_tiles = ceil_div(operands.m, product.tile_rows);
    const std::int64_t column_tiles = ceil_div(call.n, product.tile_columns);
    args = {.strips = packed.strips(call),
            .dense = prepares ? workspace_at(call.workspace, split.tiles_offset_bytes) : call.dense,
            .whole_dense = whole_dense(operands.dense_layout, own, call.dense),
            .column_scales = static_cast<const float*>(workspace_at(call.workspace, split.scales_offset_bytes)),
            .output = call.output,
            .residual = call.residual,
            .bias = call.bias,
            .device_scale = call.device_scale,
            .partial = partial_sums(product, operands.m, call),
            .m = operands.m,
            .n = call.n,
            .k = operands.k,
            .dense_leading = b.leading,
            .dense_stride = b.stride,
            .output_leading = c.leading,
            .output_stride = c.stride,
            .batch = static_cast<unsigned>(operands.batch),
            .row_tiles = static_cast<unsigned>(row_tiles),
            .column_tiles = static_cast<unsigned>(column_tiles),
            .prepared_tiles = static_cast<unsigned>(ceil_div(call.n, split.tile_columns)),
            .slice_blocks = static_cast<unsigned>(slice_blocks),
            .scale = call.scale};
    return grid_of_tiles(product, keeps_dense ? column_tiles : row_tiles * column_tiles, operands.batch);
  }
};

SumsAgain sums_again(const SpmmQuery& query, const UnpackWgmmaConfig& config, const TopologyPointers& topology) {
  return {.kind = strips_kind(stage_traits(query, config), config),
          .packed = packed_operand(query, strip_kind(query, config), topology, 0)};
}

Launch multiply_launch(const SpmmQuery& query, const UnpackWgmmaConfig& config, const TopologyPointers& topology) {
  const Spmm& problem = query.problem;
  const UnpackWgmmaTraits t = traits(query, config);
  const WorkspaceLayout workspace = workspace_layout(query, config);
  UnpackWgmmaConfig own = config;
  if (transposes_dense(config)) own.prepare_dense = false;
  codegen::KernelRequest request = {
      .family = "unpack_wgmma",
      .header = "spmm/unpack_wgmma.h",
      .expression = codegen::name_expression("unpack_wgmma", "UnpackWgmmaTraits", t, "UnpackWgmmaConfig", own),
      .features = "a"};
  const device::LaunchShape shape = {.grid = {},
                                     .block = {static_cast<unsigned>(threads(config))},
                                     .shared_bytes = shared_bytes(t, own),
                                     .cluster = static_cast<unsigned>(tile_parts(config).blocks)};
  const Binding binding = {.packed = packed_operand(query, strip_kind(query, config), topology, 0),
                           .split = workspace.dense,
                           .product = workspace.product,
                           .operands = DenseOperands::of(query),
                           .slice_blocks = slice_blocks(query, config),
                           .element = problem.element,
                           .prepares = config.prepare_dense,
                           .transposes = transposes_dense(config),
                           .keeps_dense = keeps_dense(config)};
  DenseBoxes boxes = {.layout = t.dense_layout, .element = problem.element, .tile_columns = config.tile_columns};
  if (copies_units(config)) boxes.length = split_unit_columns(config);
  return launch_maybe_mapped<UnpackWgmmaArgs>(std::move(request), shape, binding, config.tensor_copies, boxes);
}

}  // namespace

std::int64_t slice_blocks(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  const std::int64_t blocks = ceil_div(packed_k_blocks(query.statistics.cols), config.k_split);
  return round_up(blocks, scale_blocks(config));
}

WorkspaceLayout workspace_layout(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  constexpr std::int64_t alignment_bytes = 256;
  WorkspaceLayout layout;
  layout.bytes = packed_workspace_bytes(query, strip_kind(query, config));
  layout.dense = {.mode = config.mode,
                  .tile_columns = prepared_columns(config),
                  .scale_blocks = scale_blocks(config),
                  .tiles_offset_bytes = layout.bytes};
  const bool splits = config.prepare_dense && !transposes_dense(config);
  if (transposes_dense(config)) layout.bytes += dense_rows_bytes(query);
  if (splits) layout.bytes += split_tiles_bytes(query, config.mode, prepared_columns(config));
  layout.dense.scales_offset_bytes = layout.bytes;
  if (splits) layout.bytes += split_scales_bytes(query, config.mode, prepared_columns(config));
  layout.product = {.tile_rows = tile_rows(config),
                    .tile_columns = config.tile_columns,
                    .k_split = config.k_split,
                    .cluster_sums = config.cluster_sums,
                    .partial_offset_bytes = layout.bytes,
                    .stream_output = config.stream_output,
                    .most_blocks = config.persistent ? filling_blocks(query, config.min_blocks) : 0};
  layout.bytes += round_up(partial_sums_bytes(query, layout.product), alignment_bytes);
  return layout;
}

UnpackWgmmaTraits stage_traits(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  return {.element = query.problem.element,
          .dense_layout = config.prepare_dense ? Layout::row_major : query.problem.dense_layout,
          .certify = certifies(query)};
}

StripKind strip_kind(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  return {config.mode, config.grain, certifies_splits(stage_traits(query, config), config)};
}

namespace {

/// Columns of B that a lane loads at once: its own, if they are adjacent and aligned.
int dense_vector(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  if (query.problem.dense_layout != Layout::row_major) return 1;
  return std::min(left_lane_columns(config), std::min(dense_alignment(query), 16) / size_of(query.problem.element));
}

}  // namespace

UnpackWgmmaTraits traits(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
  UnpackWgmmaTraits t = stage_traits(query, config);
  t.batched = query.problem.batch > 1;
  t.long_sums = config.mode == PackedMode::f16x3 && slice_blocks(query, config) > long_sum_blocks();
  if (takes_fours(config) && !batches_left_over(config)) t.dense_vector = dense_vector(query, config);
  // A kernel that sums only a part of k leaves C's layout and the epilogue to the launch that adds the parts.
  if (launched_slices(config) > 1) return t;
  take_output(query, t);
  return t;
}

}  // namespace unpack_wgmma

namespace {

struct UnpackWgmma {
  using Query = SpmmQuery;
  using Config = UnpackWgmmaConfig;
  static constexpr std::string_view name = "unpack_wgmma";
  static bool runs_on(std::string_view architecture) { return architecture == "sm_90"; }
  static constexpr const char* why_not_there = "wgmma is an instruction of sm_90a alone";

  static constexpr auto declines = unpack_wgmma::declines;
  static constexpr auto default_config = unpack_wgmma::default_config;
  static constexpr auto space = unpack_wgmma::space;
  static constexpr auto short_list = unpack_wgmma::short_list;
  static constexpr auto forbidden = unpack_wgmma::forbidden;
  static constexpr auto predict_us = unpack_wgmma::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
    TopologyNeeds form = strip_needs(config.grain);
    form.index = query.index;
    form.transposed = query.problem.sparse_transposed;
    form.packing = packs_in_workspace(query);
    return form;
  }
  static std::string packed_format(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
    return ops::packed_format(unpack_wgmma::strip_kind(query, config));
  }

  static std::int64_t workspace_bytes(const SpmmQuery& query, const UnpackWgmmaConfig& config) {
    return unpack_wgmma::workspace_layout(query, config).bytes;
  }

  static std::vector<Launch> launches(const SpmmQuery& query, const UnpackWgmmaConfig& config,
                                      const TopologyPointers& topology) {
    const unpack_wgmma::WorkspaceLayout workspace = unpack_wgmma::workspace_layout(query, config);
    std::vector<Launch> list;
    if (packs_in_workspace(query))
      list.push_back(pack_strips_launch(query, unpack_wgmma::strip_kind(query, config), topology, 0));
    if (transposes_dense(config)) list.push_back(dense_rows_launch(query, workspace.dense.tiles_offset_bytes));
    else if (config.prepare_dense) list.push_back(split_dense_launch(query, workspace.dense));
    list.push_back(unpack_wgmma::multiply_launch(query, config, topology));
    if (launched_slices(config) > 1)
      list.push_back(unpack_sum_launch(query, workspace.product, unpack_wgmma::sums_again(query, config, topology)));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_unpack_wgmma() { return family_of<UnpackWgmma>(); }

}  // namespace vostok::ops
