#include "ops/spmm/row_tile.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "codegen/expression.hpp"
#include "ops/grid.hpp"

namespace vostok::ops {

namespace row_tile {

namespace {

static_assert(codegen::lists_every_field<RowTileTraits>(), "fields(RowTileTraits) must name every member");
static_assert(codegen::lists_every_field<RowTileConfig>(), "fields(RowTileConfig) must name every member");

/// Blocked summation bounds the error's growth; `strict` promises one plain sum instead. The kernel's blocks are this long.
constexpr std::int64_t blocked_sum_length = 256;

/// The largest power of two that divides every row start of a matrix with this leading dimension, up to the pointer's alignment.
std::int64_t row_alignment(const SpmmQuery& query, std::int64_t leading, std::int64_t element_bytes) {
  return std::gcd(std::int64_t{query.problem.alignment_bytes}, (leading == 0 ? query.n.divisor() : leading) * element_bytes);
}

}  // namespace

RowTileTraits traits(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const Dtype output = problem.output.value_or(problem.element);
  const std::int64_t leading = problem.dense_leading != 0 ? problem.dense_leading : query.n.most;
  const std::int64_t dense_bytes =
      checked_multiply(checked_multiply(query.statistics.cols, leading, "bytes of B"), size_of(problem.element), "bytes of B");
  return {.element = problem.element,
          .output = output,
          .index = problem.index,
          .wide_offsets = dense_bytes > std::numeric_limits<std::int32_t>::max(),
          .blocked_sum = problem.math != Math::strict && query.statistics.longest_row > blocked_sum_length,
          .dense_alignment = static_cast<int>(std::min(row_alignment(query, problem.dense_leading, size_of(problem.element)),
                                                       row_alignment(query, problem.output_leading, size_of(output)))),
          .sparse_alignment = problem.alignment_bytes,
          .bias = problem.epilogue.bias,
          .activation = problem.epilogue.activation,
          .scale = problem.epilogue.scale};
}

}  // namespace row_tile

namespace {

/// What fills the kernel's arguments from a call's.
struct RowTileBinding {
  TopologyPointers topology;
  std::int64_t m;
  std::int64_t nonzeros;
  std::int64_t dense_leading;   ///< 0: n
  std::int64_t output_leading;  ///< 0: n
  int tile_rows;
  int tile_columns;
  Raster raster;

  device::Dim3 operator()(const SpmmArguments& call, RowTileArgs& args) const {
    args = {.values = call.values,
            .column_indices = topology.column_indices,
            .row_offsets = static_cast<const int*>(topology.row_offsets),
            .row_order = topology.row_order,
            .dense = call.dense,
            .output = call.output,
            .bias = static_cast<const float*>(call.bias),
            .n = call.n,
            .dense_leading = dense_leading != 0 ? dense_leading : call.n,
            .output_leading = output_leading != 0 ? output_leading : call.n,
            .m = static_cast<unsigned>(m),
            .nonzeros = static_cast<unsigned>(nonzeros),
            .scale = call.scale};
    const std::int64_t row_tiles = ceil_div(m, tile_rows);
    const std::int64_t column_tiles = ceil_div(call.n, tile_columns);
    return raster == Raster::rows_first ? grid_of(row_tiles, column_tiles) : grid_of(column_tiles, row_tiles);
  }
};

class RowTile final : public FamilyOf<SpmmQuery, RowTileConfig> {
 public:
  std::string_view name() const override { return "row_tile"; }

 protected:
  std::optional<std::string> declines(const SpmmQuery& query) const override {
    const Spmm& problem = query.problem;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (query.statistics.rows > most || query.statistics.nonzeros > most) return "row offsets and row numbers have 32 bits";
    if (problem.element != Dtype::f32 || problem.output != Dtype::f32) return "only f32 is multiplied";
    if (problem.batch > 1) return "only one product is computed";
    if (problem.sparse_transposed) return "the sparse operand is not transposed";
    if (problem.dense_layout != Layout::row_major || problem.output_layout != Layout::row_major) return "dense operands are row-major";
    const Epilogue& epilogue = problem.epilogue;
    if (epilogue.residual || epilogue.accumulate || epilogue.scale == Scale::device) return "the epilogue holds a host scale and a bias";
    if (epilogue.activation != Activation::none && epilogue.activation != Activation::relu) return "the epilogue's activation is none or relu";
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
    return {.index = query.index, .row_order = config.row_swizzle};
  }
  std::int64_t workspace_bytes(const SpmmQuery&, const RowTileConfig&) const override { return 0; }

  std::vector<Launch> launches(const SpmmQuery& query, const RowTileConfig& config, const TopologyPointers& topology) const override {
    const RowTileTraits traits = row_tile::traits(query);
    codegen::KernelRequest request = {.family = std::string(name()),
                                      .header = "spmm/row_tile.h",
                                      .expression = codegen::name_expression("row_tile", "RowTileTraits", traits, "RowTileConfig", config)};
    const device::LaunchShape shape = {.grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(traits, config)};
    const RowTileBinding binding = {.topology = topology,
                                    .m = query.statistics.rows,
                                    .nonzeros = query.statistics.nonzeros,
                                    .dense_leading = query.problem.dense_leading,
                                    .output_leading = query.problem.output_leading,
                                    .tile_rows = config.tile_rows,
                                    .tile_columns = config.tile_columns,
                                    .raster = config.raster};
    return {Launch::of<SpmmArguments, RowTileArgs>(std::move(request), shape, binding)};
  }
};

}  // namespace

std::unique_ptr<Family> make_row_tile() { return std::make_unique<RowTile>(); }

}  // namespace vostok::ops
