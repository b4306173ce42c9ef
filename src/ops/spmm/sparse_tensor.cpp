#include "ops/spmm/sparse_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/grid.hpp"
#include "ops/machine.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/output_traits.hpp"

namespace vostok::ops::sparse_tensor {

static_assert(codegen::lists_every_field<SparseTensorTraits>(), "fields(SparseTensorTraits) must name every member");

SparseTensorTraits traits(const SpmmQuery& query, int launched_slices) {
  const Spmm& problem = query.problem;
  SparseTensorTraits t = {.element = problem.element,
                          .output = Dtype::f32,
                          .batched = problem.batch > 1,
                          .dense_layout = problem.dense_layout,
                          .dense_alignment = dense_alignment(query),
                          .certify = certifies(query)};
  if (launched_slices > 1) return t;
  take_output(query, t);
  return t;
}

Workspace workspace(const SpmmQuery& query, SlicedProduct product) {
  product.partial_offset_bytes = sparse_workspace_bytes(query);
  return {.product = product, .bytes = product.partial_offset_bytes + partial_sums_bytes(query, product)};
}

std::int64_t k_blocks(const SpmmQuery& query) { return packed_k_blocks(query.statistics.cols); }

std::int64_t slice_blocks(const SpmmQuery& query, int k_split) { return ceil_div(k_blocks(query), k_split); }

std::vector<Launch> launches(const SpmmQuery& query, const SlicedProduct& product, Launch multiply,
                             const TopologyPointers& topology) {
  std::vector<Launch> list;
  if (packs_in_workspace(query)) list.push_back(pack_sparse_launch(query, topology));
  list.push_back(std::move(multiply));
  if (product.needs_launch())
    list.push_back(unpack_sum_launch(
        query, product, {.kind = sparse_strips_kind(traits(query, 1)), .packed = sparse_operand(query, topology)}));
  return list;
}

device::Dim3 Binding::operator()(const SpmmArguments& call, SparseTensorArgs& args) const {
  const StoredMatrix b = operands.dense(call.n);
  const StoredMatrix c = operands.output(call.n);
  const std::int64_t row_tiles = ceil_div(operands.m, product.tile_rows);
  const std::int64_t column_tiles = ceil_div(call.n, product.tile_columns);
  args = {.strips = packed.strips(call),
          .dense = call.dense,
          .whole_dense = whole_dense(operands.dense_layout, b, call.dense),
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
          .slice_blocks = static_cast<unsigned>(slice_blocks),
          .scale = call.scale};
  return grid_of_tiles(product, row_tiles * column_tiles, operands.batch);
}

Binding binding(const SpmmQuery& query, const SlicedProduct& product, const TopologyPointers& topology) {
  return {.packed = sparse_operand(query, topology),
          .product = product,
          .operands = DenseOperands::of(query),
          .slice_blocks = slice_blocks(query, product.k_split)};
}

TopologyNeeds needs(const SpmmQuery& query) {
  return {.index = query.index,
          .transposed = query.problem.sparse_transposed,
          .sparse_strips = true,
          .packing = packs_in_workspace(query)};
}

std::optional<std::string> declines(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const TopologyStatistics& s = query.statistics;
  if (s.nonzeros == 0) return "A has no nonzeros";
  if (problem.element == Dtype::f32) return "elements of 32 bits have no sparse multiplication that is exact enough";
  if (problem.math == Math::strict)
    return "math = strict is f32 multiply-adds, and this family multiplies on tensor cores";
  if (s.rows > std::numeric_limits<std::int32_t>::max() || s.cols > std::numeric_limits<std::int32_t>::max())
    return "row and column numbers have 32 bits";
  return sparse_strips_declined(s);
}

double expected_passes(const SpmmQuery& query, int rows) {
  const TopologyStatistics& s = query.statistics;
  const double places =
      static_cast<double>(std::max<std::int64_t>(s.rows, 1)) * static_cast<double>(std::max<std::int64_t>(s.cols, 1));
  const double density = std::min(1.0, static_cast<double>(s.nonzeros) / places);
  const double third = density * density * density * (4 * (1 - density) + density);
  const double groups = rows * sparse_step_columns() / 4.0;
  return (1 - std::pow(1 - density, 4 * groups)) + (1 - std::pow(1 - third, groups));
}

double expected_strip_bytes(const SpmmQuery& query) {
  return sparse_header_bytes() + sparse_steps() * expected_passes(query, packed_strip_rows()) * sparse_pass_bytes();
}

double other_launches_us(const SpmmQuery& query, const SlicedProduct& product, bool crowded) {
  constexpr double next_launch_us = 1.1;  ///< of a launch that waits for the one before it, or is waited for
  const Machine machine = machine_of(query);
  const double l2_bytes_per_us = 9e6 * machine.speed();
  double us = 0;
  if (packs_in_workspace(query)) {
    const auto strips = static_cast<double>(ceil_div(query.statistics.rows, packed_strip_rows()) * k_blocks(query));
    const double bytes = strips * (expected_strip_bytes(query) + packed_header_bytes(PackedGrain::pair)) +
                         8.0 * static_cast<double>(query.statistics.nonzeros);
    const double latency_us = crowded ? 7 : 3.5;
    const double entry_us = crowded ? 9e-3 : 4e-3;
    // Each value is looked up, a transpose's by way of its place in A
    // (bench/notes/packing.md#behind-the-product-of-the-call-before).
    const double nonzero_us = (query.problem.sparse_transposed ? 2.4e-6 : 1.5e-6) / machine.speed();
    const double one_set =
        bytes / machine.memory_bytes_per_us + nonzero_us * static_cast<double>(query.statistics.nonzeros);
    us +=
        next_launch_us + strip_wait_us(query, latency_us, entry_us) + static_cast<double>(packed_sets(query)) * one_set;
  }
  if (product.needs_launch())
    us += next_launch_us + 2.0 * static_cast<double>(partial_sums_bytes(query, product)) / l2_bytes_per_us;
  return us;
}

}  // namespace vostok::ops::sparse_tensor
