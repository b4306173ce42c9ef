#include "ops/spmm/unpack_sum.hpp"

#include <utility>

#include <abi/packed_strips.h>
#include <abi/tile_parts.h>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/grid.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/dense_operands.hpp"
#include "ops/spmm/output_traits.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<UnpackSumTraits>(), "fields(UnpackSumTraits) must name every member");
static_assert(codegen::lists_every_field<UnpackSumConfig>(), "fields(UnpackSumConfig) must name every member");

struct SumBinding {
  SlicedProduct product;
  SumsAgain again;
  DenseOperands operands;
  bool certify;
  int warps;

  device::Dim3 operator()(const SpmmArguments& call, UnpackSumArgs& args) const {
    const StoredMatrix c = operands.output(call.n);
    const StoredMatrix b = operands.dense(call.n);
    args = {.partial = partial_sums(product, operands.m, call),
            .strips = certify ? again.packed.strips(call) : PackedStrips{},
            .whole_dense = whole_dense(operands.dense_layout, b, call.dense),
            .output = call.output,
            .residual = call.residual,
            .bias = call.bias,
            .device_scale = call.device_scale,
            .m = operands.m,
            .n = call.n,
            .output_leading = c.leading,
            .output_stride = c.stride,
            .batch = static_cast<unsigned>(operands.batch),
            .scale = call.scale};
    return grid_of(ceil_div(ceil_div(operands.m, packed_strip_rows()) * ceil_div(call.n, 8), warps), operands.batch);
  }
};

}  // namespace

bool exceeds_clusters(const Slicing& slicing, std::int64_t batch) {
  return slicing.cluster_sums && batch > most_blocks_on_y / slicing.k_split;
}

device::Dim3 grid_of_tiles(const SlicedProduct& product, std::int64_t tiles, std::int64_t batch) {
  if (product.most_blocks == 0) return grid_of(tiles, product.k_split * batch);
  return grid_of(std::min(tiles, std::max<std::int64_t>(1, product.most_blocks / std::max<std::int64_t>(1, batch))),
                 batch);
}

std::int64_t filling_blocks(const SpmmQuery& query, int min_blocks) {
  return static_cast<std::int64_t>(machine_of(query).multiprocessors) * min_blocks;
}

bool shares_tiles(const SpmmQuery& query, int tile_rows, int tile_columns, int min_blocks) {
  const std::int64_t tiles =
      ceil_div(query.statistics.rows, tile_rows) * ceil_div(query.n.most, tile_columns) * query.problem.batch;
  return tiles > filling_blocks(query, min_blocks);
}

std::int64_t partial_sums_bytes(const SpmmQuery& query, const SlicedProduct& product) {
  constexpr const char* what = "bytes of the sums of slices";
  if (!product.needs_launch()) return 0;
  const std::int64_t rows = round_up(query.statistics.rows, product.tile_rows);
  const std::int64_t columns = round_up(query.n.most, product.tile_columns);
  const std::int64_t slices = checked_multiply(query.problem.batch, product.k_split, what);
  return checked_multiply(checked_multiply(checked_multiply(slices, rows, what), columns, what), sizeof(float), what);
}

PartialSums partial_sums(const SlicedProduct& product, std::int64_t m, const SpmmArguments& call) {
  return {.at = static_cast<float*>(workspace_at(call.workspace, product.partial_offset_bytes)),
          .row_strips = round_up(m, product.tile_rows) / packed_strip_rows(),
          .octets = round_up(call.n, product.tile_columns) / 8,
          .slices = product.k_split};
}

WholeDense whole_dense(Layout layout, const StoredMatrix& stored, const void* first) {
  const bool by_rows = layout == Layout::row_major;
  return {.first = first,
          .row_step = by_rows ? stored.leading : 1,
          .column_step = by_rows ? 1 : stored.leading,
          .stride = stored.stride};
}

Launch unpack_sum_launch(const SpmmQuery& query, const SlicedProduct& product, const SumsAgain& again) {
  const Spmm& problem = query.problem;
  UnpackSumTraits traits;
  take_output(query, traits);
  traits.certify = certifies(query);
  if (traits.certify) {  // else one kernel serves all
    traits.element = problem.element;
    traits.mode = again.kind.mode;
    traits.grain = again.kind.grain;
    traits.sparse_strips = again.kind.sparse;
    traits.marked_strips = again.kind.marked;
  }
  const UnpackSumConfig config = {.stream_output = product.stream_output};
  codegen::KernelRequest request = {
      .family = "unpack_sum",
      .header = "spmm/unpack_sum.h",
      .expression = codegen::name_expression("unpack_sum", "UnpackSumTraits", traits, "UnpackSumConfig", config)};
  const device::LaunchShape shape = {
      .grid = {}, .block = {32U * static_cast<unsigned>(config.warps)}, .shared_bytes = 0};
  const SumBinding binding = {.product = product,
                              .again = again,
                              .operands = DenseOperands::of(query),
                              .certify = traits.certify,
                              .warps = config.warps};
  const std::int64_t strips = ceil_div(query.statistics.rows, packed_strip_rows()) * ceil_div(query.n.most, 8);
  return Launch::of<SpmmArguments, UnpackSumArgs>(std::move(request), shape, binding)
      .spread(query.device, ceil_div(strips, config.warps) * problem.batch);
}

}  // namespace vostok::ops
