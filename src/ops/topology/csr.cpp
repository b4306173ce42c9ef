#include "ops/topology/csr.hpp"

#include <abi/mask.h>

#include <algorithm>

#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

constexpr const char* check_header = "topology/check.h";
constexpr const char* forms_header = "topology/forms.h";

void check_rows(const Queue& queue, const CheckRowsTraits& traits, const CheckRowsArgs& args) {
  queue.launch(Step<CheckRowsTraits>{check_header, "check_rows", "CheckRowsTraits", traits, block_sum_shared_bytes()},
               queue.blocks_for(args.rows + 1), args);
}

void check_columns(const Queue& queue, const CheckColumnsTraits& traits, const CheckColumnsArgs& args) {
  queue.launch(Step<CheckColumnsTraits>{check_header, "check_columns", "CheckColumnsTraits", traits},
               queue.blocks_for(args.nonzeros), args);
}

void measure_each_row(const Queue& queue, RowMeasure measure, bool wide_offsets, const MeasureRowsArgs& args) {
  const MeasureRowsTraits traits{.measure = measure, .wide_offsets = wide_offsets};
  queue.launch(Step<MeasureRowsTraits>{forms_header, "measure_rows", "MeasureRowsTraits", traits},
               queue.blocks_for(args.rows), args);
}

void expand_rows(const Queue& queue, const ExpandRowsTraits& traits, const CsrArrays& csr, void* output) {
  const ExpandRowsArgs args{.row_offsets = csr.row_offsets,
                            .column_indices = csr.column_indices,
                            .output = output,
                            .rows = csr.rows,
                            .cols = csr.cols,
                            .nonzeros = csr.nonzeros};
  queue.launch(Step<ExpandRowsTraits>{forms_header, "expand_rows", "ExpandRowsTraits", traits},
               queue.blocks_for(csr.nonzeros), args);
}

void sort_rows(const Queue& queue, const CsrArrays& csr, std::int64_t longest_row, std::int32_t* order) {
  const QueuedMemory keys(queue, QueuedMemory::bytes_of<std::uint32_t>(csr.rows));
  measure_each_row(queue, RowMeasure::order_key, csr.wide_offsets,
                   {.row_offsets = csr.row_offsets,
                    .measures = keys.as<std::uint32_t>(),
                    .rows = csr.rows,
                    .longest_row = longest_row,
                    .strip_entries = 0});
  // As many digits as any rows of this shape may need, so that a mask that replaces this one finds its kernels
  // compiled.
  const int key_bits = bits_for(std::max(longest_row, csr.cols));
  sort_positions(queue, {.keys = keys.data(), .type = IntegerType::i32, .count = csr.rows, .key_bits = key_bits},
                 order);
}

}  // namespace

void copy_and_check(const Queue& queue, const CsrView& view, const CsrArrays& shape, const CsrDestination& destination,
                    CsrMeasures* measures) {
  check_rows(queue, {.source = integer_type(view.row_offsets), .stored = offset_type(shape.wide_offsets)},
             {.source = view.row_offsets.data(),
              .stored = destination.row_offsets,
              .measures = measures,
              .rows = shape.rows,
              .nonzeros = shape.nonzeros});
  check_columns(queue,
                {.source = integer_type(view.column_indices),
                 .stored = integer_type(shape.index),
                 .wide_offsets = shape.wide_offsets,
                 .count_columns = destination.column_counts != nullptr},
                {.source = view.column_indices.data(),
                 .stored = destination.column_indices,
                 .row_offsets = destination.row_offsets,
                 .column_counts = destination.column_counts,
                 .measures = measures,
                 .rows = shape.rows,
                 .cols = shape.cols,
                 .nonzeros = shape.nonzeros});
}

void measure_columns(const Queue& queue, const CsrArrays& csr, std::uint32_t* counts, CsrMeasures* measures) {
  check_columns(queue,
                {.source = integer_type(csr.index),
                 .stored = integer_type(csr.index),
                 .wide_offsets = csr.wide_offsets,
                 .copy = false,
                 .count_columns = counts != nullptr},
                {.source = csr.column_indices,
                 .stored = nullptr,
                 .row_offsets = csr.row_offsets,
                 .column_counts = counts,
                 .measures = measures,
                 .rows = csr.rows,
                 .cols = csr.cols,
                 .nonzeros = csr.nonzeros});
}

void measure_rows(const Queue& queue, const void* row_offsets, bool wide, std::int64_t rows, std::int64_t nonzeros,
                  CsrMeasures* measures) {
  const IntegerType type = offset_type(wide);
  check_rows(queue, {.source = type, .stored = type, .copy = false},
             {.source = row_offsets, .stored = nullptr, .measures = measures, .rows = rows, .nonzeros = nonzeros});
}

void order_rows(const Queue& queue, const CsrArrays& csr, std::int64_t longest_row, std::int32_t* order) {
  if (csr.rows > most_ranked_rows()) return sort_rows(queue, csr, longest_row, order);
  const RankRowsTraits traits{.wide_offsets = csr.wide_offsets};
  queue.launch(
      Step<RankRowsTraits>{"topology/rank_rows.h", "rank_rows", "RankRowsTraits", traits, rank_rows_shared_bytes()},
      ceil_div(csr.rows, StepConfig{}.threads / lanes_per_ranked_row()),
      RankRowsArgs{.row_offsets = csr.row_offsets, .order = order, .rows = csr.rows});
}

std::int64_t strip_room(const TopologyStatistics& statistics, int strip_entries) {
  // A row of length l has ceil(l / s) <= (l + s - 1) / s strips.
  const std::int64_t filled_rows = statistics.rows - statistics.empty_rows;
  return (statistics.nonzeros + filled_rows * (strip_entries - 1)) / strip_entries;
}

void cut_strips(const Queue& queue, const CsrArrays& csr, int strip_entries, Strip* strips, std::int64_t strip_count) {
  QueuedMemory scratch(
      queue, QueuedMemory::bytes_of<std::uint32_t>(csr.rows) + QueuedMemory::bytes_of<std::int32_t>(csr.rows + 1));
  auto* const counts = scratch.take<std::uint32_t>(csr.rows);
  auto* const strip_offsets = scratch.take<std::int32_t>(csr.rows + 1);
  measure_each_row(queue, RowMeasure::strip_count, false,
                   {.row_offsets = csr.row_offsets,
                    .measures = counts,
                    .rows = csr.rows,
                    .longest_row = 0,
                    .strip_entries = strip_entries});
  exclusive_scan(queue, counts, csr.rows, strip_offsets, false);
  const FillStripsArgs args{.row_offsets = static_cast<const std::int32_t*>(csr.row_offsets),
                            .strip_offsets = strip_offsets,
                            .strips = strips,
                            .rows = csr.rows,
                            .strip_count = strip_count,
                            .strip_entries = strip_entries};
  queue.launch(Step<FillStripsTraits>{forms_header, "fill_strips", "FillStripsTraits"}, queue.blocks_for(strip_count),
               args);
}

void transpose(const Queue& queue, const CsrArrays& csr, std::int32_t* value_positions, void* indices,
               IndexType index) {
  const QueuedMemory rows(queue, QueuedMemory::bytes_of<std::int32_t>(csr.nonzeros));
  expand_rows(queue, {.wide_offsets = csr.wide_offsets}, csr, rows.data());
  sort_positions(queue,
                 {.keys = csr.column_indices,
                  .type = integer_type(csr.index),
                  .count = csr.nonzeros,
                  .key_bits = bits_for(csr.cols - 1)},
                 value_positions);
  gather(queue, rows.data(), IntegerType::i32, value_positions, csr.nonzeros, indices, integer_type(index));
}

void linear_indices(const Queue& queue, const CsrArrays& csr, void* output, bool wide) {
  expand_rows(queue, {.wide_offsets = csr.wide_offsets, .linear = true, .index = csr.index, .wide_output = wide}, csr,
              output);
}

void to_dense(const Queue& queue, const CsrArrays& csr, const void* values, Dtype element, bool repeats, void* dense,
              std::int64_t leading) {
  const ToDenseTraits traits{.element = element, .index = csr.index, .wide_offsets = csr.wide_offsets, .adds = repeats};
  const ToDenseArgs args{.row_offsets = csr.row_offsets,
                         .column_indices = csr.column_indices,
                         .values = values,
                         .dense = dense,
                         .cols = csr.cols,
                         .leading = leading};
  queue.launch(Step<ToDenseTraits>{"topology/to_dense.h", "to_dense", "ToDenseTraits", traits}, csr.rows, args);
}

Step<GatherTraits> gather_step(IntegerType source_type, IntegerType stored_type, bool permuted) {
  return {forms_header, "gather", "GatherTraits", {.source = source_type, .stored = stored_type, .permuted = permuted}};
}

void gather(const Queue& queue, const void* source, IntegerType source_type, const std::int32_t* positions,
            std::int64_t count, void* stored, IntegerType stored_type) {
  const GatherArgs args{.source = source, .positions = positions, .stored = stored, .count = count};
  queue.launch(gather_step(source_type, stored_type, positions != nullptr), queue.blocks_for(count), args);
}

}  // namespace vostok::ops
