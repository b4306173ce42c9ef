#include "ops/spmm/row_tile.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/pack_values.hpp"

namespace vostok::ops {

namespace row_tile {

namespace {

static_assert(codegen::lists_every_field<RowTileTraits>(), "fields(RowTileTraits) must name every member");
static_assert(codegen::lists_every_field<RowTileConfig>(), "fields(RowTileConfig) must name every member");

/// Blocked summation bounds the error's growth; `strict` promises one plain sum instead. The kernel's blocks are this long.
/// `tf32` only allows less exact products: it is served as `accurate` is.
constexpr std::int64_t blocked_sum_length = 256;

/// Elements of a line that starts 16-byte aligned.
std::int64_t aligned_length(std::int64_t length, Dtype type) { return round_up(length, 16 / size_of(type)); }

/// The largest power of two that divides the start of every line, up to the pointer's alignment. `leading` is 0 where lines
/// are packed, `stride` where matrices are or where there is one.
int line_alignment(const SpmmQuery& query, std::int64_t leading, std::int64_t stride, Dtype type) {
  const std::int64_t step = std::gcd(leading == 0 ? query.n.divisor() : leading, stride) * size_of(type);
  return static_cast<int>(std::max<std::int64_t>(std::gcd(std::int64_t{query.problem.alignment_bytes}, step), size_of(type)));
}

/// The same of the values of every product. Where each product's values follow the last one's, only a value is sure to be
/// aligned: the next topology of this shape may have any number of nonzeros.
int value_alignment(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  if (!problem.values_per_batch) return problem.alignment_bytes;
  if (problem.value_stride == 0) return size_of(problem.element);
  return static_cast<int>(std::gcd(std::int64_t{problem.alignment_bytes}, problem.value_stride * size_of(problem.element)));
}

/// Whether a byte offset into B, as it is or prepared, can reach 2^31.
bool has_wide_offsets(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const std::int64_t leading =
      problem.dense_layout == Layout::row_major ? query.dense(query.n.most).leading : aligned_length(query.n.most, problem.element);
  const std::int64_t bytes = checked_multiply(checked_multiply(query.statistics.cols, leading, "bytes of B"), size_of(problem.element), "bytes of B");
  return bytes > std::numeric_limits<std::int32_t>::max();
}

/// Where a config's launches leave what they prepare.
struct WorkspaceLayout {
  std::int64_t value_stride = 0;  ///< elements between two sets of packed values
  std::int64_t value_sets = 0;
  std::int64_t dense_offset_bytes = 0;
  std::int64_t bytes = 0;
};

std::int64_t prepared_stride(const SpmmQuery& query, std::int64_t n) { return query.statistics.cols * aligned_length(n, query.problem.element); }

WorkspaceLayout workspace_layout(const SpmmQuery& query, const RowTileConfig& config) {
  constexpr std::int64_t alignment_bytes = 256;
  const Spmm& problem = query.problem;
  WorkspaceLayout layout;
  if (config.pack_values) {
    layout.value_stride = aligned_length(query.statistics.nonzeros, problem.element);
    layout.value_sets = problem.values_per_batch ? problem.batch : 1;
    layout.bytes = round_up(layout.value_stride * layout.value_sets * size_of(problem.element), alignment_bytes);
  }
  layout.dense_offset_bytes = layout.bytes;
  if (config.prepare_dense)
    layout.bytes += round_up(
        checked_multiply(prepared_stride(query, query.n.most), problem.batch * size_of(problem.element), "bytes of the workspace"), alignment_bytes);
  return layout;
}

}  // namespace

RowTileTraits traits(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const Dtype output = problem.output.value_or(problem.element);
  const Epilogue& epilogue = problem.epilogue;
  return {.element = problem.element,
          .output = output,
          .index = query.index,
          .wide_offsets = has_wide_offsets(query),
          .wide_nonzeros = query.statistics.nonzeros > std::numeric_limits<std::int32_t>::max(),
          .blocked_sum = problem.math != Math::strict && query.statistics.longest_row > blocked_sum_length,
          .batched = problem.batch > 1,
          .gathered_values = problem.sparse_transposed,
          .dense_layout = problem.dense_layout,
          .output_layout = problem.output_layout,
          .dense_alignment = problem.dense_layout == Layout::column_major
                                 ? size_of(problem.element)
                                 : line_alignment(query, problem.dense_leading, problem.dense_stride, problem.element),
          .output_alignment = problem.output_layout == Layout::column_major
                                  ? size_of(output)
                                  : line_alignment(query, problem.output_leading, problem.output_stride, output),
          .value_alignment = value_alignment(query),
          .bias = epilogue.bias,
          .activation = epilogue.activation,
          .scale = epilogue.scale,
          .residual = epilogue.residual,
          .accumulate = epilogue.accumulate};
}

namespace {

/// What fills the kernel's arguments from a call's.
struct Binding {
  TopologyPointers topology;
  std::int64_t m;
  std::int64_t k;
  std::int64_t nonzeros;
  std::int64_t batch;
  Layout dense_layout;
  Layout output_layout;
  std::int64_t dense_leading;  ///< these are the problem's: 0 where packed
  std::int64_t dense_stride;
  std::int64_t output_leading;
  std::int64_t output_stride;
  std::int64_t value_stride;  ///< 0 where values are shared
  std::int64_t packed_value_stride;
  std::int64_t prepared_dense_bytes;  ///< where the prepared B lies in the workspace
  Dtype element;
  int tile_rows;
  int tile_columns;
  Raster raster;
  bool prepare_dense;
  bool pack_values;

  StoredMatrix dense(std::int64_t n) const {
    if (prepare_dense) return stored_matrix(Layout::row_major, k, n, aligned_length(n, element), 0);
    return stored_matrix(dense_layout, k, n, dense_leading, dense_stride);
  }

  device::Dim3 operator()(const SpmmArguments& call, RowTileArgs& args) const {
    const StoredMatrix b = dense(call.n);
    const StoredMatrix c = stored_matrix(output_layout, m, call.n, output_leading, output_stride);
    const std::int64_t row_tiles = ceil_div(m, tile_rows);
    const std::int64_t column_tiles = ceil_div(call.n, tile_columns);
    const std::int64_t slow_tiles = raster == Raster::rows_first ? column_tiles : row_tiles;
    args = {.values = pack_values ? call.workspace : call.values,
            .column_indices = topology.column_indices,
            .row_offsets = topology.row_offsets,
            .row_order = topology.row_order,
            .value_positions = topology.value_positions,
            .dense = prepare_dense ? workspace_at(call.workspace, prepared_dense_bytes) : call.dense,
            .output = call.output,
            .residual = call.residual,
            .bias = static_cast<const float*>(call.bias),
            .device_scale = call.device_scale,
            .n = call.n,
            .dense_leading = b.leading,
            .output_leading = c.leading,
            .value_stride = value_stride != 0 && pack_values ? packed_value_stride : value_stride,
            .dense_stride = b.stride,
            .output_stride = c.stride,
            .nonzeros = static_cast<unsigned long long>(nonzeros),
            .m = static_cast<unsigned>(m),
            .batch = static_cast<unsigned>(batch),
            .slow_tiles = static_cast<unsigned>(slow_tiles),
            .scale = call.scale};
    return grid_of(raster == Raster::rows_first ? row_tiles : column_tiles, slow_tiles * batch);
  }
};

Launch multiply_launch(const SpmmQuery& query, const RowTileConfig& config, const TopologyPointers& topology) {
  const Spmm& problem = query.problem;
  const RowTileTraits t = traits(query);
  const WorkspaceLayout workspace = workspace_layout(query, config);
  codegen::KernelRequest request = {.family = "row_tile",
                                    .header = "spmm/row_tile.h",
                                    .expression = codegen::name_expression("row_tile", "RowTileTraits", t, "RowTileConfig", config)};
  const device::LaunchShape shape = {.grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  const Binding binding = {.topology = topology,
                           .m = query.statistics.rows,
                           .k = query.statistics.cols,
                           .nonzeros = query.statistics.nonzeros,
                           .batch = problem.batch,
                           .dense_layout = problem.dense_layout,
                           .output_layout = problem.output_layout,
                           .dense_leading = problem.dense_leading,
                           .dense_stride = problem.dense_stride,
                           .output_leading = problem.output_leading,
                           .output_stride = problem.output_stride,
                           .value_stride = query.value_stride(),
                           .packed_value_stride = workspace.value_stride,
                           .prepared_dense_bytes = workspace.dense_offset_bytes,
                           .element = problem.element,
                           .tile_rows = config.tile_rows,
                           .tile_columns = config.tile_columns,
                           .raster = config.raster,
                           .prepare_dense = config.prepare_dense,
                           .pack_values = config.pack_values};
  return Launch::of<SpmmArguments, RowTileArgs>(std::move(request), shape, binding);
}

/// B as [n, k] becomes [k, n] in the workspace.
Launch prepare_launch(const SpmmQuery& query, const RowTileConfig& config) {
  const Spmm& problem = query.problem;
  return transpose_launch<SpmmArguments>(
      problem.element, [k = query.statistics.cols, batch = problem.batch, leading = problem.dense_leading, stride = problem.dense_stride,
                        offset = workspace_layout(query, config).dense_offset_bytes, element = problem.element](const SpmmArguments& call) {
        return DenseTransposition{.source = call.dense,
                                  .destination = workspace_at(call.workspace, offset),
                                  .rows = call.n,
                                  .columns = k,
                                  .source_leading = leading,
                                  .destination_leading = aligned_length(call.n, element),
                                  .source_stride = stride,
                                  .batch = batch};
      });
}

}  // namespace

}  // namespace row_tile

namespace {

class RowTile final : public FamilyOf<SpmmQuery, RowTileConfig> {
 public:
  std::string_view name() const override { return "row_tile"; }

 protected:
  std::optional<std::string> declines(const SpmmQuery& query) const override {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const TopologyStatistics& s = query.statistics;
    if (s.rows > most || s.cols > most) return "row and column numbers have 32 bits";
    if (query.problem.sparse_transposed && s.nonzeros > most) return "the positions of a transposed matrix's values have 32 bits";
    if (s.rows > most_blocks_on_y * most_blocks_on_y / query.problem.batch) return "the grid holds fewer rows than the batch has";
    return std::nullopt;
  }

  RowTileConfig default_config(const SpmmQuery& query) const override { return row_tile::default_config(query); }
  std::vector<RowTileConfig> space(const SpmmQuery& query) const override { return row_tile::space(query); }
  std::vector<RowTileConfig> short_list(const SpmmQuery& query) const override { return row_tile::short_list(query); }
  std::optional<std::string> forbidden(const SpmmQuery& query, const RowTileConfig& config) const override {
    return row_tile::forbidden(query, config);
  }
  double predict_us(const SpmmQuery& query, const RowTileConfig& config) const override { return row_tile::predict_us(query, config); }

  TopologyNeeds needs(const SpmmQuery& query, const RowTileConfig& config) const override {
    return {.index = query.index, .transposed = query.problem.sparse_transposed, .row_order = config.row_swizzle};
  }

  std::int64_t workspace_bytes(const SpmmQuery& query, const RowTileConfig& config) const override {
    return row_tile::workspace_layout(query, config).bytes;
  }

  std::vector<Launch> launches(const SpmmQuery& query, const RowTileConfig& config, const TopologyPointers& topology) const override {
    std::vector<Launch> list;
    if (config.pack_values) {
      const row_tile::WorkspaceLayout workspace = row_tile::workspace_layout(query, config);
      list.push_back(pack_values_launch({.element = query.problem.element,
                                         .positions = topology.value_positions,
                                         .nonzeros = query.statistics.nonzeros,
                                         .value_stride = query.value_stride(),
                                         .packed_stride = workspace.value_stride,
                                         .sets = workspace.value_sets}));
    }
    if (config.prepare_dense && query.statistics.nonzeros > 0) list.push_back(row_tile::prepare_launch(query, config));
    list.push_back(row_tile::multiply_launch(query, config, topology));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_row_tile() { return std::make_unique<RowTile>(); }

}  // namespace vostok::ops
