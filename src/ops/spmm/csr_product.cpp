#include "ops/spmm/csr_product.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "base/checked.hpp"
#include "codegen/expression.hpp"
#include "ops/dense_transpose.hpp"
#include "ops/spmm/dense_rows.hpp"
#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/pack_values.hpp"

namespace vostok::ops::csr_product {

namespace {

static_assert(codegen::lists_every_field<CsrProductTraits>(), "fields(CsrProductTraits) must name every member");

/// The length of the kernels' summation blocks. Blocked summation bounds the error's growth; `strict` promises one
/// plain sum instead. `tf32` only permits less exact products and is served like `accurate`.
constexpr std::int64_t blocked_sum_length = 256;

/// The alignment of every product's values. If these follow one another without gaps, only single values are sure to be
/// aligned: the next topology of this shape may have any number of nonzeros.
int value_alignment(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  if (!problem.values_per_batch) return problem.alignment_bytes;
  if (problem.value_stride == 0) return size_of(problem.element);
  return static_cast<int>(
      std::gcd(std::int64_t{problem.alignment_bytes}, problem.value_stride * size_of(problem.element)));
}

/// Whether a byte offset into B, as given or prepared, can reach 2^31.
bool has_wide_offsets(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const std::int64_t leading = problem.dense_layout == Layout::row_major
                                   ? query.dense(query.n.most).leading
                                   : aligned_length(query.n.most, problem.element);
  const std::int64_t bytes = checked_multiply(checked_multiply(query.statistics.cols, leading, "bytes of B"),
                                              size_of(problem.element), "bytes of B");
  return bytes > std::numeric_limits<std::int32_t>::max();
}

}  // namespace

CsrProductTraits traits(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const Dtype output = problem.output.value_or(problem.element);
  const Epilogue& epilogue = problem.epilogue;
  return {.element = problem.element,
          .output = output,
          .index = query.index,
          .wide_offsets = has_wide_offsets(query),
          .wide_nonzeros = query.statistics.nonzeros > std::numeric_limits<std::int32_t>::max(),
          .blocked_sum = problem.math != Math::strict &&
                         query.statistics.longest_row > blocked_sum_length - blocked_sum_length / 8,
          .batched = problem.batch > 1,
          .gathered_values = problem.sparse_transposed,
          .dense_layout = problem.dense_layout,
          .output_layout = problem.output_layout,
          .dense_alignment = problem.dense_layout == Layout::column_major
                                 ? size_of(problem.element)
                                 : line_alignment(query, query.n.divisor(), problem.dense_leading, problem.dense_stride,
                                                  problem.element),
          .output_alignment =
              problem.output_layout == Layout::column_major
                  ? size_of(output)
                  : line_alignment(query, query.n.divisor(), problem.output_leading, problem.output_stride, output),
          .value_alignment = value_alignment(query),
          .bias = epilogue.bias,
          .activation = epilogue.activation,
          .scale = epilogue.scale,
          .residual = epilogue.residual,
          .accumulate = epilogue.accumulate,
          .bias_element = epilogue.bias_element.value_or(Dtype::f32)};
}

std::optional<std::string> declines(const SpmmQuery& query) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const TopologyStatistics& s = query.statistics;
  if (s.rows > most || s.cols > most) return "row and column numbers have 32 bits";
  if (query.problem.sparse_transposed && s.nonzeros > most)
    return "the positions of a transposed matrix's values have 32 bits";
  return std::nullopt;
}

std::vector<Preparation> preparations(const SpmmQuery& query) {
  const bool column_major = query.problem.dense_layout == Layout::column_major;
  const bool prepares_first = column_major && query.n.most > 1;
  std::vector<Preparation> list;
  for (const bool pack_values : {false, true})
    for (const bool prepare_dense : {prepares_first, !prepares_first})
      if ((column_major || !prepare_dense) && (query.problem.sparse_transposed || !pack_values))
        list.push_back({prepare_dense, pack_values});
  return list;
}

PreparedOperands prepared_operands(const SpmmQuery& query, const Preparation& preparation) {
  constexpr std::int64_t alignment_bytes = 256;
  const Spmm& problem = query.problem;
  PreparedOperands layout;
  if (preparation.pack_values) {
    layout.value_stride = aligned_length(query.statistics.nonzeros, problem.element);
    layout.value_sets = problem.values_per_batch ? problem.batch : 1;
    layout.bytes = round_up(layout.value_stride * layout.value_sets * size_of(problem.element), alignment_bytes);
  }
  layout.dense_offset_bytes = layout.bytes;
  if (preparation.prepare_dense) layout.bytes += dense_rows_bytes(query);
  return layout;
}

std::vector<Launch> preparing_launches(const SpmmQuery& query, const Preparation& preparation,
                                       const TopologyPointers& topology) {
  const PreparedOperands prepared = prepared_operands(query, preparation);
  std::vector<Launch> list;
  if (preparation.pack_values) {
    list.push_back(pack_values_launch({.element = query.problem.element,
                                       .positions = topology.value_positions,
                                       .nonzeros = query.statistics.nonzeros,
                                       .value_stride = query.value_stride(),
                                       .packed_stride = prepared.value_stride,
                                       .sets = prepared.value_sets}));
  }
  if (preparation.prepare_dense && query.statistics.nonzeros > 0)
    list.push_back(dense_rows_launch(query, prepared.dense_offset_bytes));
  return list;
}

OperandBinding::OperandBinding(const SpmmQuery& query, const Preparation& preparation, const TopologyPointers& topology)
    : column_indices_(topology.column_indices),
      row_offsets_(topology.row_offsets),
      value_positions_(topology.value_positions),
      preparation_(preparation),
      operands_(DenseOperands::of(query)),
      nonzeros_(query.statistics.nonzeros),
      value_stride_(query.value_stride()),
      element_(query.problem.element) {
  const PreparedOperands prepared = prepared_operands(query, preparation);
  if (preparation.pack_values && value_stride_ != 0) value_stride_ = prepared.value_stride;
  prepared_dense_bytes_ = prepared.dense_offset_bytes;
}

StoredMatrix OperandBinding::dense(std::int64_t n) const {
  if (preparation_.prepare_dense) return dense_rows(operands_.k, n, element_);
  return operands_.dense(n);
}

CsrProductArgs OperandBinding::operator()(const SpmmArguments& call, std::int64_t slow_tiles) const {
  const StoredMatrix b = dense(call.n);
  const StoredMatrix c = operands_.output(call.n);
  return {.values = preparation_.pack_values ? call.workspace : call.values,
          .column_indices = column_indices_,
          .row_offsets = row_offsets_,
          .value_positions = value_positions_,
          .dense = preparation_.prepare_dense ? workspace_at(call.workspace, prepared_dense_bytes_) : call.dense,
          .output = call.output,
          .residual = call.residual,
          .bias = call.bias,
          .device_scale = call.device_scale,
          .n = call.n,
          .dense_leading = b.leading,
          .output_leading = c.leading,
          .value_stride = value_stride_,
          .dense_stride = b.stride,
          .output_stride = c.stride,
          .nonzeros = static_cast<unsigned long long>(nonzeros_),
          .m = static_cast<unsigned>(operands_.m),
          .batch = static_cast<unsigned>(operands_.batch),
          .slow_tiles = static_cast<unsigned>(slow_tiles),
          .scale = call.scale};
}

int widest_dense_vector(const SpmmQuery& query, const CsrProductTraits& t, const Preparation& preparation) {
  struct Choice {
    bool prepare_dense;
    int dense_vector;
  };
  if (reads_columns(t, preparation)) return 1;
  const auto fits = [&](int width) {
    const Choice choice = {preparation.prepare_dense, width};
    const bool stores = t.output_layout == Layout::column_major || store_alignment(t, choice) <= t.output_alignment;
    return width * size_of(t.element) <= read_alignment(t, choice) && stores && query.n.divisor() % width == 0;
  };
  int widest = 16 / size_of(t.element);
  while (widest > 1 && !fits(widest)) widest /= 2;
  return widest;
}

int widest_sparse_vector(const SpmmQuery& query, const CsrProductTraits& t, const Preparation& preparation) {
  const int most = 16 / size_of(t.element);
  if (t.gathered_values || preparation.pack_values || query.problem.values_per_batch) return most;
  return std::min(most, t.value_alignment / size_of(t.element));
}

int rounded_columns(const SpmmQuery& query, int most) {
  return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(query.n.most, 1, most))));
}

}  // namespace vostok::ops::csr_product
