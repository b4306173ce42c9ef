#include "ops/topology/runs_form.hpp"

#include <tuple>

#include <abi/run_steps.h>

#include "ops/topology/primitives.hpp"

namespace vostok::ops {

namespace {

Step<RunStepTraits> program_for(IndexType index) {
  return {"topology/packed_runs.h", "make_packed_runs", "RunStepTraits", {.index = index}};
}

RunStepArgs arguments_of(const RunSource& source, const RunSlots& slots) {
  return {.step = RunStep::count_slots,
          .row_offsets = static_cast<const int*>(source.csr.row_offsets),
          .column_indices = source.csr.column_indices,
          .slots = slots.slots,
          .slots_before = slots.slots_before,
          .run_counts = nullptr,
          .row_runs = nullptr,
          .starts = nullptr,
          .counts = nullptr,
          .codes = nullptr,
          .firsts = nullptr,
          .rows = source.csr.rows,
          .nonzeros = source.csr.nonzeros,
          .gap_bits = source.gap_bits};
}

}  // namespace

RunSlots count_runs(const Queue& queue, const RunSource& source, std::uint32_t* row_runs) {
  const auto& [rows, nonzeros] = std::tie(source.csr.rows, source.csr.nonzeros);
  RunSlots slots;
  slots.memory = QueuedMemory(
      queue, QueuedMemory::bytes_of<std::uint32_t>(nonzeros) + QueuedMemory::bytes_of<std::uint32_t>(nonzeros + 1));
  slots.slots = slots.memory.take<std::uint32_t>(nonzeros);
  slots.slots_before = slots.memory.take<std::uint32_t>(nonzeros + 1);
  QueuedMemory counts(queue, QueuedMemory::bytes_of<std::uint32_t>(rows));
  RunStepArgs args = arguments_of(source, slots);
  args.run_counts = counts.take<std::uint32_t>(rows);
  queue.take(program_for(source.csr.index), args, RunStep::count_slots, nonzeros);
  exclusive_scan(queue, slots.slots, nonzeros, slots.slots_before, false);
  queue.take(program_for(source.csr.index), args, RunStep::count_row_runs, rows);
  exclusive_scan(queue, args.run_counts, rows, row_runs, false);
  return slots;
}

void place_runs(const Queue& queue, const RunSource& source, const RunSlots& slots, const RunParts& parts,
                std::int64_t groups) {
  if (groups == 0) return;
  const std::int64_t runs = groups * group_runs();
  queue.fill_zero(parts.codes, runs * code_pieces(source.gap_bits) * run_piece_bytes());
  queue.fill_zero(parts.starts, runs * std::int64_t{sizeof(std::uint16_t)});
  queue.fill_zero(parts.counts, runs);
  queue.fill_zero(parts.firsts, runs * std::int64_t{sizeof(std::int32_t)});
  RunStepArgs args = arguments_of(source, slots);
  args.row_runs = parts.row_runs;
  args.starts = parts.starts;
  args.counts = parts.counts;
  args.codes = parts.codes;
  args.firsts = parts.firsts;
  queue.take(program_for(source.csr.index), args, RunStep::place_slots, source.csr.nonzeros);
}

}  // namespace vostok::ops
