#include "ops/spmm/staged_rows.hpp"

#include <abi/panels.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/output_traits.hpp"

namespace vostok::ops {

namespace staged_rows {

namespace {

static_assert(codegen::lists_every_field<StagedRowsConfig>(), "fields(StagedRowsConfig) must name every member");
static_assert(codegen::lists_every_field<StagedRowsSumConfig>(), "fields(StagedRowsSumConfig) must name every member");
static_assert(std::is_trivially_copyable_v<StagedRowsArgs> && sizeof(StagedRowsArgs) <= max_argument_bytes);

/// Elements from one row of a slice's sums to the next: each starts 16-byte aligned.
std::int64_t partial_leading(std::int64_t n) { return round_up(n, 4); }

std::int64_t partial_bytes(const SpmmQuery& query, const StagedRowsConfig& config) {
  if (config.k_split == 1) return 0;
  constexpr const char* what = "the bytes of the sums of slices";
  const std::int64_t rows =
      checked_multiply(checked_multiply(query.statistics.rows, config.k_split, what), query.problem.batch, what);
  return checked_multiply(checked_multiply(rows, partial_leading(query.n.most), what), sizeof(float), what);
}

/// Fills the kernels' arguments from a call's.
struct Binding {
  csr_product::OperandBinding operands;
  const std::int32_t* row_order;
  const std::int32_t* panel_starts;
  std::int64_t partial_offset;  ///< bytes of the workspace before the sums of slices
  std::int64_t k;
  std::int64_t panels;
  std::int64_t slice_panels;
  std::int64_t row_tiles;
  std::int64_t row_groups;
  std::int64_t row_blocks;  ///< blocks of the grid that share a tile of columns
  int slices;
  int tile_columns;
  Raster raster;

  device::Dim3 operator()(const SpmmArguments& call, StagedRowsArgs& args) const {
    const std::int64_t column_tiles = ceil_div(call.n, tile_columns);
    const bool rows_first = raster == Raster::rows_first;
    const std::int64_t slow_tiles = rows_first ? column_tiles : row_blocks;
    args = {.product = operands(call, slow_tiles),
            .row_order = row_order,
            .panel_starts = panel_starts,
            .partial = slices > 1 ? static_cast<float*>(workspace_at(call.workspace, partial_offset)) : nullptr,
            .partial_leading = partial_leading(call.n),
            .k = k,
            .panels = static_cast<unsigned>(panels),
            .slice_panels = static_cast<unsigned>(slice_panels),
            .row_tiles = static_cast<unsigned>(row_tiles),
            .row_groups = static_cast<unsigned>(row_groups),
            .slices = static_cast<unsigned>(slices)};
    return grid_of(rows_first ? row_blocks : column_tiles, slow_tiles * operands.batch());
  }
};

Binding binding_of(const SpmmQuery& query, const StagedRowsConfig& config, const TopologyPointers& topology) {
  const csr_product::Preparation preparation = csr_product::preparation_of(config);
  return {.operands = {query, preparation, topology},
          .row_order = topology.row_order,
          .panel_starts = topology.panel_starts,
          .partial_offset = csr_product::prepared_operands(query, preparation).bytes,
          .k = query.statistics.cols,
          .panels = panels(query, config),
          .slice_panels = slice_panels(query, config),
          .row_tiles = row_tiles(query, config),
          .row_groups = row_groups(query, config),
          .row_blocks = row_blocks(query, config),
          .slices = config.k_split,
          .tile_columns = config.tile_columns,
          .raster = config.raster};
}

/// A kernel that sums only a part of k leaves the epilogue to the launch that adds the parts.
StagedRowsTraits multiply_traits(const StagedRowsTraits& whole, const StagedRowsConfig& config) {
  if (config.k_split == 1) return whole;
  StagedRowsTraits t = whole;
  const StagedRowsTraits plain;
  output_fields(t) = output_fields(plain);
  return t;
}

Launch multiply_launch(const SpmmQuery& query, const StagedRowsConfig& config, const TopologyPointers& topology) {
  const StagedRowsTraits t = multiply_traits(traits(query), config);
  codegen::KernelRequest request = {
      .family = "staged_rows",
      .header = "spmm/staged_rows.h",
      .expression = codegen::name_expression("staged_rows", "StagedRowsTraits", t, "StagedRowsConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  return Launch::of<SpmmArguments, StagedRowsArgs>(std::move(request), shape, binding_of(query, config, topology));
}

Launch sum_launch(const SpmmQuery& query, const StagedRowsConfig& config, const TopologyPointers& topology) {
  const StagedRowsSumConfig sum = sum_config(query, config);
  codegen::KernelRequest request = {
      .family = "staged_rows",
      .header = "spmm/staged_rows_sum.h",
      .expression = codegen::name_expression("staged_rows_sum", "StagedRowsTraits", output_traits(traits(query)),
                                             "StagedRowsSumConfig", sum)};
  const device::LaunchShape shape = {.grid = {}, .block = {static_cast<unsigned>(threads(sum))}, .shared_bytes = 0};
  Binding binding = binding_of(query, config, topology);
  binding.row_blocks = ceil_div(query.statistics.rows, sum.rows);
  binding.tile_columns = sum.tile_columns;
  binding.raster = sum.raster;
  return Launch::of<SpmmArguments, StagedRowsArgs>(std::move(request), shape, binding);
}

}  // namespace

/// Fields that the kernel ignores keep their defaults: offsets into B are those of a panel, and values are loaded one
/// by one.
StagedRowsTraits traits(const SpmmQuery& query) {
  const StagedRowsTraits plain;
  StagedRowsTraits t = csr_product::traits(query);
  t.wide_offsets = plain.wide_offsets;
  t.value_alignment = plain.value_alignment;
  return t;
}

std::int64_t panels(const SpmmQuery& query, const StagedRowsConfig& config) {
  return panel_count(query.statistics.cols, config.panel_rows);
}

std::int64_t slice_panels(const SpmmQuery& query, const StagedRowsConfig& config) {
  return ceil_div(panels(query, config), config.k_split);
}

std::int64_t row_tiles(const SpmmQuery& query, const StagedRowsConfig& config) {
  return ceil_div(query.statistics.rows, tile_rows(config));
}

std::int64_t row_groups(const SpmmQuery& query, const StagedRowsConfig& config) {
  return ceil_div(row_tiles(query, config), config.row_rounds);
}

std::int64_t row_blocks(const SpmmQuery& query, const StagedRowsConfig& config) {
  return row_groups(query, config) * config.k_split;
}

StagedRowsSumConfig sum_config(const SpmmQuery& query, const StagedRowsConfig& config) {
  constexpr int block_threads = 128;
  const int lanes =
      std::min(32, std::max(1, csr_product::rounded_columns(query, 32 * config.dense_vector) / config.dense_vector));
  return {.rows = block_threads / lanes,
          .tile_columns = lanes * config.dense_vector,
          .threads_per_row = lanes,
          .dense_vector = config.dense_vector,
          .stream_output = config.stream_output};
}

}  // namespace staged_rows

namespace {

struct StagedRows {
  using Query = SpmmQuery;
  using Config = StagedRowsConfig;
  static constexpr std::string_view name = "staged_rows";
  static bool runs_on(std::string_view architecture) { return architecture != "sm_75"; }
  static constexpr const char* why_not_there = "cp.async came with sm_80";

  static constexpr auto declines = staged_rows::declines;
  static constexpr auto default_config = staged_rows::default_config;
  static constexpr auto space = staged_rows::space;
  static constexpr auto short_list = staged_rows::short_list;
  static constexpr auto forbidden = staged_rows::forbidden;
  static constexpr auto predict_us = staged_rows::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const StagedRowsConfig& config) {
    return {.index = query.index,
            .transposed = query.problem.sparse_transposed,
            .row_order = config.row_swizzle,
            .panel_rows = config.panel_rows};
  }

  static std::int64_t workspace_bytes(const SpmmQuery& query, const StagedRowsConfig& config) {
    return csr_product::prepared_operands(query, csr_product::preparation_of(config)).bytes +
           staged_rows::partial_bytes(query, config);
  }

  static std::vector<Launch> launches(const SpmmQuery& query, const StagedRowsConfig& config,
                                      const TopologyPointers& topology) {
    std::vector<Launch> list = csr_product::preparing_launches(query, csr_product::preparation_of(config), topology);
    list.push_back(staged_rows::multiply_launch(query, config, topology));
    if (config.k_split > 1) list.push_back(staged_rows::sum_launch(query, config, topology));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_staged_rows() { return family_of<StagedRows>(); }

}  // namespace vostok::ops
