#include "ops/spmm/nonzero_split.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/families.hpp"
#include "ops/grid.hpp"
#include "ops/spmm/output_traits.hpp"

namespace vostok::ops {

namespace nonzero_split {

namespace {

static_assert(codegen::lists_every_field<NonzeroSplitConfig>(), "fields(NonzeroSplitConfig) must name every member");
static_assert(codegen::lists_every_field<SplitRowsConfig>(), "fields(SplitRowsConfig) must name every member");
static_assert(std::is_trivially_copyable_v<NonzeroSplitArgs> && sizeof(NonzeroSplitArgs) <= max_argument_bytes);

std::int64_t chunk_count(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  return vostok::chunk_count(query.statistics.rows, query.statistics.nonzeros, config.chunk_items);
}

/// Elements from one piece to the next: each starts 16-byte aligned.
std::int64_t piece_leading(std::int64_t n) { return round_up(n, 4); }

std::int64_t piece_bytes(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  if (!splits_rows(query, config)) return 0;
  constexpr const char* what = "the bytes of the pieces of rows";
  const std::int64_t pieces = checked_multiply(2 * block_count(query, config), query.problem.batch, what);
  return checked_multiply(checked_multiply(pieces, piece_leading(query.n.most), what), sizeof(float), what);
}

/// Fills the kernels' arguments from a call's.
struct Binding {
  csr_product::OperandBinding operands;
  const ChunkStart* chunks;
  std::int64_t chunk_count;
  std::int64_t block_count;
  std::int64_t pieces_offset;  ///< bytes of the workspace before the pieces
  int chunks_per_block;
  int tile_columns;
  Raster raster;
  bool cuts_rows;
  bool splits_rows;

  device::Dim3 operator()(const SpmmArguments& call, NonzeroSplitArgs& args) const {
    const std::int64_t column_tiles = ceil_div(call.n, tile_columns);
    const bool rows_first = raster == Raster::rows_first;
    const std::int64_t slow_tiles = rows_first ? column_tiles : block_count;
    args = {.product = operands(call, slow_tiles),
            .chunks = chunks,
            .pieces = splits_rows ? static_cast<float*>(workspace_at(call.workspace, pieces_offset)) : nullptr,
            .piece_leading = piece_leading(call.n),
            .chunk_count = static_cast<unsigned>(chunk_count),
            .block_count = static_cast<unsigned>(block_count),
            .chunks_per_block = static_cast<unsigned>(chunks_per_block),
            .cuts_rows = cuts_rows};
    return grid_of(rows_first ? block_count : column_tiles, slow_tiles * operands.batch());
  }
};

Binding binding_of(const SpmmQuery& query, const NonzeroSplitConfig& config, const TopologyPointers& topology) {
  const csr_product::Preparation preparation = csr_product::preparation_of(config);
  return {.operands = {query, preparation, topology},
          .chunks = topology.chunks,
          .chunk_count = chunk_count(query, config),
          .block_count = block_count(query, config),
          .pieces_offset = csr_product::prepared_operands(query, preparation).bytes,
          .chunks_per_block = config.chunks_per_block,
          .tile_columns = config.tile_columns,
          .raster = config.raster,
          .cuts_rows = cuts_rows(query, config),
          .splits_rows = splits_rows(query, config)};
}

Launch multiply_launch(const SpmmQuery& query, const NonzeroSplitConfig& config, const TopologyPointers& topology) {
  const NonzeroSplitTraits t = traits(query);
  codegen::KernelRequest request = {
      .family = "nonzero_split",
      .header = "spmm/nonzero_split.h",
      .expression = codegen::name_expression("nonzero_split", "NonzeroSplitTraits", t, "NonzeroSplitConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(config))}, .shared_bytes = shared_bytes(t, config)};
  return Launch::of<SpmmArguments, NonzeroSplitArgs>(std::move(request), shape, binding_of(query, config, topology));
}

Launch split_rows_launch(const SpmmQuery& query, const NonzeroSplitConfig& config, const TopologyPointers& topology) {
  const SplitRowsConfig rows = split_rows_config(config);
  codegen::KernelRequest request = {
      .family = "nonzero_split",
      .header = "spmm/nonzero_split_rows.h",
      .expression = codegen::name_expression("nonzero_split_rows", "NonzeroSplitTraits", output_traits(traits(query)),
                                             "SplitRowsConfig", rows)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {static_cast<unsigned>(threads(rows))}, .shared_bytes = shared_bytes(rows)};
  Binding binding = binding_of(query, config, topology);
  binding.tile_columns = rows.tile_columns;
  binding.raster = rows.raster;
  return Launch::of<SpmmArguments, NonzeroSplitArgs>(std::move(request), shape, binding);
}

}  // namespace

std::int64_t block_count(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  return ceil_div(chunk_count(query, config), config.chunks_per_block);
}

bool cuts_rows(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  return query.statistics.longest_row >= config.chunk_items;
}

bool splits_rows(const SpmmQuery& query, const NonzeroSplitConfig& config) {
  return cuts_rows(query, config) && block_count(query, config) > 1;
}

SplitRowsConfig split_rows_config(const NonzeroSplitConfig& config) {
  constexpr int usual_threads = 128;
  return {.ranges = std::min(usual_threads / config.threads_per_row, 32),
          .tile_columns = config.threads_per_row * config.dense_vector,
          .threads_per_row = config.threads_per_row,
          .dense_vector = config.dense_vector,
          .stream_output = config.stream_output};
}

}  // namespace nonzero_split

namespace {

struct NonzeroSplit {
  using Query = SpmmQuery;
  using Config = NonzeroSplitConfig;
  static constexpr std::string_view name = "nonzero_split";

  static std::optional<std::string> declines(const SpmmQuery& query) {
    if (auto reason = csr_product::declines(query)) return reason;
    if (query.statistics.rows + query.statistics.nonzeros > std::numeric_limits<std::int32_t>::max())
      return "chunks number rows and nonzeros in 32 bits";
    if (query.problem.math == Math::strict)
      return "math = strict sums a row's products in one order, and long rows are cut here";
    return nonzero_split::forbidden(query, nonzero_split::default_config(query));
  }

  static constexpr auto default_config = nonzero_split::default_config;
  static constexpr auto space = nonzero_split::space;
  static constexpr auto short_list = nonzero_split::short_list;
  static constexpr auto forbidden = nonzero_split::forbidden;
  static constexpr auto predict_us = nonzero_split::predict_us;

  static TopologyNeeds needs(const SpmmQuery& query, const NonzeroSplitConfig& config) {
    return {.index = query.index, .transposed = query.problem.sparse_transposed, .chunk_items = config.chunk_items};
  }

  static std::int64_t workspace_bytes(const SpmmQuery& query, const NonzeroSplitConfig& config) {
    return csr_product::prepared_operands(query, csr_product::preparation_of(config)).bytes +
           nonzero_split::piece_bytes(query, config);
  }

  static std::vector<Launch> launches(const SpmmQuery& query, const NonzeroSplitConfig& config,
                                      const TopologyPointers& topology) {
    std::vector<Launch> list = csr_product::preparing_launches(query, csr_product::preparation_of(config), topology);
    list.push_back(nonzero_split::multiply_launch(query, config, topology));
    if (nonzero_split::splits_rows(query, config))
      list.push_back(nonzero_split::split_rows_launch(query, config, topology));
    return list;
  }
};

}  // namespace

std::unique_ptr<Family> make_nonzero_split() { return family_of<NonzeroSplit>(); }

}  // namespace vostok::ops
