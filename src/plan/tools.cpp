#include "plan/tools.hpp"

#include <cmath>

#include "base/boundary.hpp"
#include "base/checked.hpp"
#include "ops/topology/mask.hpp"
#include "plan/masks.hpp"
#include "plan/tool_checks.hpp"

namespace vostok {

namespace {

/// The transpose in the topology's own arrays.
ops::CsrArrays transposed_arrays(TopologyState& state, const ops::TopologyPointers& pointers) {
  const TopologyStatistics& statistics = state.statistics(true);
  return {.row_offsets = pointers.row_offsets,
          .column_indices = pointers.column_indices,
          .index = ops::narrowest_index(statistics.cols),
          .rows = statistics.rows,
          .cols = statistics.cols,
          .nonzeros = statistics.nonzeros};
}

CsrView view_of(const ops::CsrArrays& arrays) {
  CsrView view{.rows = arrays.rows, .cols = arrays.cols, .nonzeros = arrays.nonzeros};
  view.row_offsets = static_cast<const std::int32_t*>(arrays.row_offsets);
  view.column_indices = arrays.index == IndexType::u16
                            ? IndexArray(static_cast<const std::uint16_t*>(arrays.column_indices))
                            : IndexArray(static_cast<const std::int32_t*>(arrays.column_indices));
  return view;
}

/// The permuted topology. The permutation is complete once the topology is, since both come from the same stream.
PermutedTopology permuted(const std::shared_ptr<plan::Session>& session, const ops::CsrArrays& arrays,
                          ops::QueuedMemory positions) {
  plan::require_results("permute topology", session->device());
  Topology topology(std::make_shared<TopologyState>(session, view_of(arrays), nullptr));
  return {.topology = std::move(topology), .positions = plan::array_of(session, std::move(positions))};
}

ops::QueuedMemory make_positions(const ops::Queue& queue, std::int64_t nonzeros) {
  return {queue, nonzeros * std::int64_t{sizeof(std::int32_t)}};
}

/// The CSR arrays of the structure, for kernels on a user's stream.
ops::CsrArrays used_arrays(TopologyState& state, Stream stream) {
  state.note_use(stream);
  return state.arrays();
}

void write_linear_indices(const Topology& topology, void* indices, bool wide, Stream stream) {
  constexpr const char* what = "write linear indices";
  TopologyState& state = *plan::checked_state(what, topology, stream);
  const TopologyStatistics& statistics = topology.statistics();
  if (statistics.nonzeros == 0) return;
  if (indices == nullptr) fail(ErrorCode::invalid_argument, "cannot {}: indices is null", what);
  const std::int64_t elements = statistics.rows * statistics.cols;
  if (!wide && elements > (std::int64_t{1} << 31))
    fail(ErrorCode::invalid_argument, "cannot {}: {} rows of {} columns do not fit in int32; give int64", what,
         statistics.rows, statistics.cols);
  const ops::Queue queue = plan::queue_on(*state.session(), stream);
  ops::linear_indices(queue, used_arrays(state, stream), indices, wide);
}

void write_dense(const Topology& topology, const void* values, const DenseOutput& dense, Stream stream) {
  constexpr const char* what = "write dense matrix";
  TopologyState& state = *plan::checked_state(what, topology, stream);
  const TopologyStatistics& statistics = topology.statistics();
  const std::int64_t leading =
      plan::checked_leading(what, dense.data, statistics.rows, statistics.cols, dense.leading, dense.element);
  if (statistics.rows == 0 || statistics.cols == 0) return;
  if (values == nullptr && statistics.nonzeros > 0)
    fail(ErrorCode::invalid_argument, "cannot {}: values is null", what);
  plan::require_apart(what, dense.data,
                      plan::matrix_region({statistics.rows, statistics.cols, leading, 0}, dense.element, 1), values,
                      plan::array_region(statistics.nonzeros, dense.element));
  const ops::Queue queue = plan::queue_on(*state.session(), stream);
  ops::to_dense(queue, used_arrays(state, stream), values, dense.element, statistics.duplicates, dense.data, leading);
}

PermutedTopology transposed(const Topology& topology, Stream stream) {
  TopologyState& state = *plan::checked_state("transpose topology", topology, stream);
  const ops::Queue queue = plan::queue_behind(*state.session(), stream);
  state.note_use(queue.stream());
  const ops::TopologyPointers pointers = state.pointers({.index = IndexType::automatic, .transposed = true});
  const ops::CsrArrays arrays = transposed_arrays(state, pointers);
  ops::QueuedMemory positions = make_positions(queue, arrays.nonzeros);
  ops::gather(queue, pointers.value_positions, IntegerType::i32, nullptr, arrays.nonzeros, positions.data(),
              IntegerType::i32);
  return permuted(state.session(), arrays, std::move(positions));
}

PermutedTopology sorted(const Topology& topology, Stream stream) {
  TopologyState& state = *plan::checked_state("sort topology", topology, stream);
  const ops::Queue queue = plan::queue_behind(*state.session(), stream);
  state.note_use(queue.stream());
  // Transposing twice sorts: the transpose lists its entries by column, and its transpose lists those by row.
  const ops::TopologyPointers pointers = state.pointers({.index = IndexType::automatic, .transposed = true});
  ops::CsrArrays arrays = state.arrays();
  const ops::QueuedMemory columns(queue, arrays.nonzeros * size_of(ops::integer_type(arrays.index)));
  const ops::QueuedMemory of_transpose = make_positions(queue, arrays.nonzeros);
  ops::QueuedMemory positions = make_positions(queue, arrays.nonzeros);
  ops::transpose(queue, transposed_arrays(state, pointers), of_transpose.as<std::int32_t>(), columns.data(),
                 arrays.index);
  ops::gather(queue, pointers.value_positions, IntegerType::i32, of_transpose.as<std::int32_t>(), arrays.nonzeros,
              positions.data(), IntegerType::i32);
  arrays.column_indices = columns.data();
  return permuted(state.session(), arrays, std::move(positions));
}

}  // namespace

void to_dense(const Topology& topology, const void* values, const DenseOutput& dense, Stream stream) {
  at_boundary("write", "dense matrix", [&] { write_dense(topology, values, dense, stream); });
}

PermutedTopology transpose(const Topology& topology, Stream stream) {
  return at_boundary("transpose", "topology", [&] { return transposed(topology, stream); });
}

PermutedTopology sort_columns(const Topology& topology, Stream stream) {
  return at_boundary("sort", "topology", [&] { return sorted(topology, stream); });
}

void linear_indices(const Topology& topology, std::int32_t* indices, Stream stream) {
  at_boundary("write", "linear indices", [&] { write_linear_indices(topology, indices, false, stream); });
}

void linear_indices(const Topology& topology, std::int64_t* indices, Stream stream) {
  at_boundary("write", "linear indices", [&] { write_linear_indices(topology, indices, true, stream); });
}

namespace plan {

namespace {

constexpr const char* compressing = "compress dense matrix";

ops::DenseOperand checked_operand(const Session& session, const DenseView& dense, Stream stream) {
  session.require_no_capture(stream, compressing);
  require_shape(compressing, dense.rows, dense.cols);
  const std::int64_t leading =
      checked_leading(compressing, dense.data, dense.rows, dense.cols, dense.leading, dense.element);
  return {.data = dense.data, .rows = dense.rows, .cols = dense.cols, .leading = leading, .element = dense.element};
}

MaskJob job_of(const ops::DenseOperand& dense, const ops::QueuedMemory& rules, std::int64_t rows_per_rule) {
  return {.traits = {.kind = MaskKind::largest, .element = dense.element},
          .args = {.dense = dense.data,
                   .leading = dense.leading,
                   .rules = rules.as<SelectionRule>(),
                   .rows_per_rule = rows_per_rule,
                   .rows = dense.rows,
                   .cols = dense.cols}};
}

}  // namespace

SparseMatrix sparse_above(const std::shared_ptr<Session>& session, const DenseView& dense, float threshold,
                          Stream stream) {
  const ops::DenseOperand operand = checked_operand(*session, dense, stream);
  if (std::isnan(threshold)) fail(ErrorCode::invalid_argument, "cannot {}: threshold is NaN", compressing);
  const ops::Queue queue = queue_behind(*session, stream);
  const ops::QueuedMemory rule = upload(queue, std::vector<SelectionRule>{ops::rule_above(threshold)});
  return run_mask(session, queue, job_of(operand, rule, std::max<std::int64_t>(dense.rows, 1)));
}

SparseMatrix sparse_largest(const std::shared_ptr<Session>& session, const DenseView& dense, std::int64_t count,
                            Per per, Stream stream) {
  const ops::DenseOperand operand = checked_operand(*session, dense, stream);
  if (per != Per::matrix && per != Per::row)
    fail(ErrorCode::invalid_argument, "cannot {}: per = {} is no enumerator", compressing, static_cast<int>(per));
  const bool by_row = per == Per::row;
  const std::int64_t most = by_row ? dense.cols : dense.rows * dense.cols;
  if (count < 0 || count > most)
    fail(ErrorCode::invalid_argument, "cannot {}: count = {} is not in [0, {}], the elements of {}", compressing, count,
         most, by_row ? "a row" : "the matrix");
  const ops::Queue queue = queue_behind(*session, stream);
  const ops::QueuedMemory rules(queue, (by_row ? dense.rows : 1) * std::int64_t{sizeof(SelectionRule)});
  if (by_row) ops::select_largest_of_rows(queue, operand, count, rules.as<SelectionRule>());
  else ops::select_largest(queue, operand, count, rules.as<SelectionRule>());
  MaskJob job = job_of(operand, rules, by_row ? 1 : std::max<std::int64_t>(dense.rows, 1));
  job.rules_span_rows = !by_row;
  job.nonzeros = by_row ? dense.rows * count : count;
  return run_mask(session, queue, job);
}

}  // namespace plan
}  // namespace vostok
