#include "ops/spmm/unpack_mma.hpp"

#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/dense_operands.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/output_traits.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/spmm/split_dense.hpp"
#include "ops/spmm/unpack_sum.hpp"

namespace vostok::ops {

namespace unpack_mma {

namespace {

static_assert(codegen::lists_every_field<UnpackMmaTraits>(), "fields(UnpackMmaTraits) must name every member");
static_assert(codegen::lists_every_field<UnpackMmaConfig>(), "fields(UnpackMmaConfig) must name every member");

StripKind strip_kind(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return {.mode = config.mode, .marked = certifies_splits(stage_traits(query), config)};
}

/// Columns of the tiles that B is prepared in.
constexpr int prepared_columns = 64;

/// Layout of the workspace of a config's launches: packed values, B as split tiles and their scales, sums of slices.
struct WorkspaceLayout {
  std::int64_t tiles_offset_bytes = 0;
  std::int64_t scales_offset_bytes = 0;
  std::int64_t partial_offset_bytes = 0;
  std::int64_t bytes = 0;
};

SlicedProduct sliced(const UnpackMmaConfig& config, std::int64_t partial_offset_bytes) {
  return {.tile_rows = tile_rows(config),
          .tile_columns = tile_columns(config),
          .k_split = config.k_split,
          .partial_offset_bytes = partial_offset_bytes,
          .stream_output = config.stream_output};
}

WorkspaceLayout workspace_layout(const SpmmQuery& query, const UnpackMmaConfig& config) {
  constexpr std::int64_t alignment_bytes = 256;
  WorkspaceLayout layout;
  layout.tiles_offset_bytes = packed_workspace_bytes(query, strip_kind(query, config));
  layout.scales_offset_bytes = layout.tiles_offset_bytes;
  layout.partial_offset_bytes = layout.tiles_offset_bytes;
  if (config.prepare_dense) {
    layout.scales_offset_bytes += round_up(split_tiles_bytes(query, config.mode, prepared_columns), alignment_bytes);
    layout.partial_offset_bytes = layout.scales_offset_bytes + split_scales_bytes(query, config.mode, prepared_columns);
  }
  layout.bytes = layout.partial_offset_bytes + partial_bytes(query, config);
  return layout;
}

/// Fills the kernel's arguments from a call's.
struct Binding {
  PackedOperand packed;
  SlicedProduct slices;
  DenseOperands operands;
  std::int64_t slice_blocks;
  std::int64_t tiles_offset_bytes;
  std::int64_t scales_offset_bytes;
  std::int64_t tile_bytes;  ///< of one tile of a prepared B; 0: B is read in place

  device::Dim3 operator()(const SpmmArguments& call, UnpackMmaArgs& args) const {
    const StoredMatrix b = operands.dense(call.n);
    const StoredMatrix c = operands.output(call.n);
    const std::int64_t row_tiles = ceil_div(operands.m, slices.tile_rows);
    const std::int64_t column_tiles = ceil_div(call.n, slices.tile_columns);
    const bool prepared = tile_bytes > 0;
    const std::int64_t prepared_tiles = ceil_div(call.n, prepared_columns);
    args = {.strips = packed.strips(call),
            .dense = prepared ? workspace_at(call.workspace, tiles_offset_bytes) : call.dense,
            .whole_dense = whole_dense(operands.dense_layout, b, call.dense),
            .column_scales = static_cast<const float*>(workspace_at(call.workspace, scales_offset_bytes)),
            .output = call.output,
            .residual = call.residual,
            .bias = call.bias,
            .device_scale = call.device_scale,
            .partial = slices.k_split > 1 ? partial_sums(slices, operands.m, call) : PartialSums{},
            .m = operands.m,
            .k = operands.k,
            .n = call.n,
            .dense_leading = b.leading,
            .output_leading = c.leading,
            .dense_stride = prepared ? prepared_tiles * packed_k_blocks(operands.k) * tile_bytes : b.stride,
            .output_stride = c.stride,
            .column_scale_stride = prepared_tiles * prepared_columns,
            .batch = static_cast<unsigned>(operands.batch),
            .row_tiles = static_cast<unsigned>(row_tiles),
            .column_tiles = static_cast<unsigned>(column_tiles),
            .slice_blocks = static_cast<unsigned>(slice_blocks),
            .scale = call.scale};
    return grid_of(row_tiles * column_tiles, slices.k_split * operands.batch);
  }
};

Binding binding_of(const SpmmQuery& query, const UnpackMmaConfig& config, const TopologyPointers& topology) {
  const WorkspaceLayout workspace = workspace_layout(query, config);
  return {.packed = packed_operand(query, strip_kind(query, config), topology, 0),
          .slices = sliced(config, workspace.partial_offset_bytes),
          .operands = DenseOperands::of(query),
          .slice_blocks = slice_blocks(query, config),
          .tiles_offset_bytes = workspace.tiles_offset_bytes,
          .scales_offset_bytes = workspace.scales_offset_bytes,
          .tile_bytes = config.prepare_dense ? split_tile_bytes(config.mode, prepared_columns) : 0};
}

SumsAgain sums_again(const SpmmQuery& query, const UnpackMmaConfig& config, const TopologyPointers& topology) {
  return {.kind = strips_kind(stage_traits(query), config),
          .packed = packed_operand(query, strip_kind(query, config), topology, 0)};
}

Launch multiply_launch(const SpmmQuery& query, const UnpackMmaConfig& config, const TopologyPointers& topology) {
  const UnpackMmaTraits t = traits(query, config);
  codegen::KernelRequest request = {
      .family = "unpack_mma",
      .header = "spmm/unpack_mma.h",
      .expression = codegen::name_expression("unpack_mma", "UnpackMmaTraits", t, "UnpackMmaConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  return Launch::of<SpmmArguments, UnpackMmaArgs>(std::move(request), shape, binding_of(query, config, topology));
}

}  // namespace

UnpackMmaTraits stage_traits(const SpmmQuery& query) {
  return {.element = query.problem.element, .dense_layout = query.problem.dense_layout, .certify = certifies(query)};
}

UnpackMmaTraits traits(const SpmmQuery& query, const UnpackMmaConfig& config) {
  UnpackMmaTraits t = stage_traits(query);
  t.output = Dtype::f32;
  t.batched = query.problem.batch > 1;
  t.dense_alignment = dense_alignment(query);
  if (config.k_split == 1) take_output(query, t);
  return t;
}

std::int64_t k_blocks(const SpmmQuery& query) { return packed_k_blocks(query.statistics.cols); }

std::int64_t slice_blocks(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return ceil_div(k_blocks(query), config.k_split);
}

std::int64_t partial_bytes(const SpmmQuery& query, const UnpackMmaConfig& config) {
  return partial_sums_bytes(query, sliced(config, 0));
}

}  // namespace unpack_mma

namespace {

struct UnpackMma {
  using Query = SpmmQuery;
  using Config = UnpackMmaConfig;
  static constexpr std::string_view name = "unpack_mma";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }
  static constexpr const char* why_not_there = "mma.sync of 16 x 8 x 16 and cp.async came with sm_80";

  static constexpr auto declines = unpack_mma::declines;
  static constexpr auto default_config = unpack_mma::default_config;
  static constexpr auto space = unpack_mma::space;
  static constexpr auto short_list = unpack_mma::short_list;
  static constexpr auto forbidden = unpack_mma::forbidden;
  static constexpr auto predict_us = unpack_mma::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const UnpackMmaConfig&) {
    return {.index = query.index,
            .transposed = query.problem.sparse_transposed,
            .packed_strips = PackedGrain::pair,
            .packing = packs_in_workspace(query)};
  }
  static std::string packed_format(const SpmmQuery& query, const UnpackMmaConfig& config) {
    return ops::packed_format(unpack_mma::strip_kind(query, config));
  }

  static std::int64_t workspace_bytes(const SpmmQuery& query, const UnpackMmaConfig& config) {
    return unpack_mma::workspace_layout(query, config).bytes;
  }

  static std::vector<Launch> launches(const SpmmQuery& query, const UnpackMmaConfig& config,
                                      const TopologyPointers& topology) {
    const unpack_mma::WorkspaceLayout workspace = unpack_mma::workspace_layout(query, config);
    std::vector<Launch> list;
    if (packs_in_workspace(query))
      list.push_back(pack_strips_launch(query, unpack_mma::strip_kind(query, config), topology, 0));
    if (config.prepare_dense)
      list.push_back(split_dense_launch(query, {.mode = config.mode,
                                                .tile_columns = unpack_mma::prepared_columns,
                                                .tiles_offset_bytes = workspace.tiles_offset_bytes,
                                                .scales_offset_bytes = workspace.scales_offset_bytes}));
    list.push_back(unpack_mma::multiply_launch(query, config, topology));
    if (config.k_split > 1)
      list.push_back(unpack_sum_launch(query, unpack_mma::sliced(config, workspace.partial_offset_bytes),
                                       unpack_mma::sums_again(query, config, topology)));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_unpack_mma() { return family_of<UnpackMma>(); }

}  // namespace vostok::ops
