#include "ops/spmm/row_tile.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "codegen/expression.hpp"

namespace vostok::ops {

namespace row_tile {

namespace {

static_assert(codegen::lists_every_field<RowTileTraits>(), "fields(RowTileTraits) must name every member");
static_assert(codegen::lists_every_field<RowTileConfig>(), "fields(RowTileConfig) must name every member");
static_assert(std::is_trivially_copyable_v<RowTileArgs> && sizeof(RowTileArgs) <= max_argument_bytes);

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

/// Blocks of the index that varies slowly lie on y, and on z past what y holds.
constexpr std::int64_t most_blocks_on_y = 65535;

device::Dim3 grid_of(std::int64_t fast_tiles, std::int64_t slow_tiles) {
  const std::int64_t on_y = std::min(slow_tiles, most_blocks_on_y);
  return {static_cast<unsigned>(fast_tiles), static_cast<unsigned>(on_y), static_cast<unsigned>(ceil_div(slow_tiles, on_y))};
}

template <Raster raster>
device::Dim3 bind(const SpmmLaunch& launch, const SpmmArguments& user, std::int64_t n, void* arguments) {
  *static_cast<RowTileArgs*>(arguments) = {.values = user.values,
                                           .column_indices = launch.topology.column_indices,
                                           .row_offsets = launch.topology.row_offsets,
                                           .row_order = launch.topology.row_order,
                                           .dense = user.dense,
                                           .output = user.output,
                                           .bias = static_cast<const float*>(user.bias),
                                           .n = n,
                                           .dense_leading = launch.dense_leading != 0 ? launch.dense_leading : n,
                                           .output_leading = launch.output_leading != 0 ? launch.output_leading : n,
                                           .m = static_cast<unsigned>(launch.m),
                                           .nonzeros = static_cast<unsigned>(launch.nonzeros),
                                           .scale = user.scale};
  const std::int64_t row_tiles = ceil_div(launch.m, launch.tile_rows);
  const std::int64_t column_tiles = ceil_div(n, launch.tile_columns);
  return raster == Raster::rows_first ? grid_of(row_tiles, column_tiles) : grid_of(column_tiles, row_tiles);
}

RowTileConfig parse(const FieldMap& fields) {
  const auto config = codegen::from_map<RowTileConfig>(fields);
  if (!config) fail(ErrorCode::internal, "cannot read a row_tile config: a value of \"{}\" is not understood", to_text(fields));
  return *config;
}

std::vector<FieldMap> to_maps(const std::vector<RowTileConfig>& configs) {
  std::vector<FieldMap> maps;
  maps.reserve(configs.size());
  for (const RowTileConfig& config : configs) maps.push_back(codegen::to_map(config));
  return maps;
}

class RowTile final : public SpmmFamily {
 public:
  std::string_view name() const override { return "row_tile"; }

  std::optional<std::string> declines(const SpmmQuery& query) const override {
    const Spmm& problem = query.problem;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (query.statistics.rows > most || query.statistics.nonzeros > most) return "row offsets and row numbers have 32 bits";
    if (problem.element != Dtype::f32 || problem.output.value_or(problem.element) != Dtype::f32) return "only f32 is multiplied";
    if (problem.index != IndexType::i32) return "only 32-bit column indices are read";
    if (problem.sparse_transposed) return "the sparse operand is not transposed";
    if (problem.dense_layout != Layout::row_major || problem.output_layout != Layout::row_major) return "dense operands are row-major";
    const Epilogue& epilogue = problem.epilogue;
    if (epilogue.residual || epilogue.accumulate || epilogue.scale == Scale::device) return "the epilogue holds a host scale and a bias";
    if (epilogue.activation != Activation::none && epilogue.activation != Activation::relu) return "the epilogue's activation is none or relu";
    return std::nullopt;
  }

  FieldMap default_config(const SpmmQuery& query) const override { return codegen::to_map(row_tile::default_config(query)); }
  std::vector<FieldMap> space(const SpmmQuery& query) const override { return to_maps(row_tile::space(query)); }
  std::vector<FieldMap> short_list(const SpmmQuery& query) const override { return to_maps(row_tile::short_list(query)); }

  std::optional<std::string> forbidden(const SpmmQuery& query, const FieldMap& fields) const override {
    const auto config = codegen::from_map<RowTileConfig>(fields);
    if (!config) return "a field's value is not understood";
    return row_tile::forbidden(query, *config);
  }

  codegen::KernelRequest kernel(const SpmmQuery& query, const FieldMap& fields) const override {
    return {.family = std::string(name()),
            .header = "spmm/row_tile.h",
            .expression = codegen::name_expression("row_tile", "RowTileTraits", row_tile::traits(query), "RowTileConfig", parse(fields))};
  }

  SpmmLaunch launch(const SpmmQuery& query, const FieldMap& fields) const override {
    const RowTileConfig config = parse(fields);
    return {.kernel = nullptr,
            .shape = {.grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(row_tile::traits(query), config)},
            .argument_bytes = sizeof(RowTileArgs),
            .m = query.statistics.rows,
            .k = query.statistics.cols,
            .nonzeros = query.statistics.nonzeros,
            .dense_leading = query.problem.dense_leading,
            .output_leading = query.problem.output_leading,
            .tile_rows = config.tile_rows,
            .tile_columns = config.tile_columns,
            .topology = {},
            .bind = config.raster == Raster::rows_first ? bind<Raster::rows_first> : bind<Raster::columns_first>};
  }

  bool needs_row_order(const FieldMap& fields) const override { return parse(fields).row_swizzle; }

  double predict_us(const SpmmQuery& query, const FieldMap& fields) const override { return row_tile::predict_us(query, parse(fields)); }
};

}  // namespace

std::unique_ptr<SpmmFamily> make_row_tile() { return std::make_unique<RowTile>(); }

}  // namespace vostok::ops
