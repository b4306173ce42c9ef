// The kernels of topologies and tools compile for GPUs: every one that the host's functions ask for, collected on a
// device that runs nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <thread>

#include "compile/nvrtc.hpp"
#include "ops/topology/chunks.hpp"
#include "ops/topology/csr.hpp"
#include "ops/topology/mask.hpp"
#include "ops/topology/pack_runs.hpp"
#include "ops/topology/pack_sparse.hpp"
#include "ops/topology/pack_strips.hpp"
#include "ops/topology/packed_form.hpp"
#include "ops/topology/panels.hpp"
#include "ops/topology/primitives.hpp"
#include "ops/topology/row_slots.hpp"
#include "ops/topology/runs_form.hpp"
#include "ops/topology/sparse_form.hpp"
#include "ops/topology/tile_lists.hpp"
#include "unit/fakes/fake_device.hpp"

using namespace vostok;

namespace {

/// The compiler saves a predicate or two of some small kernels in 4-byte slots, with most registers free.
constexpr std::int64_t tolerated_spill_bytes = 16;

/// Requests by expression.
using Requests = std::map<std::string, codegen::KernelRequest>;

void queue_forms(const ops::Queue& queue, IndexType index, bool wide) {
  char memory[64] = {};
  const ops::CsrArrays csr{.row_offsets = memory,
                           .wide_offsets = wide,
                           .column_indices = memory,
                           .index = index,
                           .rows = 100,
                           .cols = 50'000,
                           .nonzeros = 5000};
  auto* const measures = reinterpret_cast<CsrMeasures*>(memory);
  auto* const numbers = reinterpret_cast<std::uint32_t*>(memory);
  ops::measure_columns(queue, csr, nullptr, measures);
  ops::measure_columns(queue, csr, numbers, measures);
  ops::measure_rows(queue, memory, wide, 100, 5000, measures);
  for (const std::int64_t rows : {100, 100'000}) {  // ranked, and sorted
    ops::CsrArrays ordered = csr;
    ordered.rows = rows;
    ops::order_rows(queue, ordered, 70'000, reinterpret_cast<std::int32_t*>(memory));
  }
  ops::linear_indices(queue, csr, memory, wide);
  if (!wide) ops::transpose(queue, csr, reinterpret_cast<std::int32_t*>(memory), memory, index);
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const bool repeats : {false, true}) ops::to_dense(queue, csr, memory, element, repeats, memory, 50'000);
  for (const bool counted : {false, true}) {
    CsrView view{.rows = 100, .cols = 50'000};
    view.row_offsets = reinterpret_cast<std::int64_t*>(memory);
    view.column_indices = reinterpret_cast<std::int32_t*>(memory);
    ops::copy_and_check(queue, view, csr,
                        {.row_offsets = memory, .column_indices = memory, .column_counts = counted ? numbers : nullptr},
                        measures);
  }
}

void queue_masks(const ops::Queue& queue) {
  char memory[64] = {};
  auto* const offsets = reinterpret_cast<std::int64_t*>(memory);
  auto* const rules = reinterpret_cast<SelectionRule*>(memory);
  const auto queue_mask = [&](const MaskTraits& traits, bool competing) {
    const MaskArgs args{.rows = 100, .cols = 100};
    ops::count_mask(queue, traits, args, competing ? offsets : nullptr, offsets);
    ops::fill_mask(queue, traits, args, offsets, offsets, reinterpret_cast<std::int32_t*>(memory), memory);
  };
  for (int kind = 0; name(static_cast<MaskKind>(kind)) != nullptr; ++kind)
    queue_mask({.kind = static_cast<MaskKind>(kind)}, false);
  ops::select_uniform(queue, 1, 100, 100, 1000, rules);
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const ops::DenseOperand dense{.data = memory, .rows = 100, .cols = 100, .leading = 100, .element = element};
    ops::select_largest(queue, dense, 5, rules);
    ops::select_largest_of_rows(queue, dense, 5, rules);
    queue_mask({.kind = MaskKind::largest, .element = element}, true);
  }
}

void queue_tile_lists(const ops::Queue& queue) {
  static char memory[1 << 16] = {};  // this device fills it
  for (const IndexType index : {IndexType::u16, IndexType::i32})
    ops::list_tiles(
        queue,
        {.row_offsets = memory, .column_indices = memory, .index = index, .rows = 100, .cols = 100, .nonzeros = 500},
        {.rows = 64, .columns = 64}, {.rows = 100, .cols = 100, .nonzeros = 500},
        {.tiles = reinterpret_cast<SampleTile*>(memory),
         .row_shifts = reinterpret_cast<std::int32_t*>(memory),
         .places = reinterpret_cast<std::uint16_t*>(memory)});
}

void queue_packed_forms(const ops::Queue& queue) {
  static char memory[1 << 13] = {};  // this device fills it
  auto* const numbers = reinterpret_cast<std::uint32_t*>(memory);
  auto* const positions = reinterpret_cast<std::int32_t*>(memory);
  for (const IndexType index : {IndexType::u16, IndexType::i32})
    for (const std::int32_t* of_transpose : {static_cast<std::int32_t*>(nullptr), positions}) {
      const ops::PackedFormSource source{.csr = {.row_offsets = memory,
                                                 .column_indices = memory,
                                                 .index = index,
                                                 .rows = 100,
                                                 .cols = 100,
                                                 .nonzeros = 500},
                                         .value_positions = of_transpose};
      for (const PackedGrain grain : {PackedGrain::pair, PackedGrain::four, PackedGrain::whole})
        ops::make_packed_form(queue, source, grain,
                              {.headers = numbers,
                               .row_starts = positions,
                               .slot_offsets = numbers,
                               .slots = reinterpret_cast<std::uint16_t*>(memory),
                               .value_places = positions,
                               .unit_offsets = {numbers, numbers},
                               .left_starts = numbers,
                               .left_over = [&](std::uint32_t) { return ops::LeftOverParts{numbers, positions}; }});
    }
}

void queue_run_forms(const ops::Queue& queue) {
  static char memory[1 << 13] = {};  // this device fills it
  auto* const numbers = reinterpret_cast<std::uint32_t*>(memory);
  for (const IndexType index : {IndexType::u16, IndexType::i32}) {
    const ops::RunSource source{.csr = {.row_offsets = memory,
                                        .column_indices = memory,
                                        .index = index,
                                        .rows = 100,
                                        .cols = 100,
                                        .nonzeros = 500}};
    const ops::RunSlots slots = ops::count_runs(queue, source, numbers);
    ops::place_runs(queue, source, slots,
                    {.row_runs = numbers,
                     .starts = reinterpret_cast<std::uint16_t*>(memory),
                     .counts = reinterpret_cast<std::uint8_t*>(memory),
                     .codes = numbers,
                     .firsts = reinterpret_cast<std::int32_t*>(memory)},
                    1);
  }
}

void queue_sparse_forms(const ops::Queue& queue) {
  static char memory[1 << 13] = {};  // this device fills it
  auto* const numbers = reinterpret_cast<std::uint32_t*>(memory);
  auto* const positions = reinterpret_cast<std::int32_t*>(memory);
  for (const IndexType index : {IndexType::u16, IndexType::i32})
    for (const std::int32_t* of_transpose : {static_cast<std::int32_t*>(nullptr), positions})
      ops::make_sparse_form(queue,
                            {.csr = {.row_offsets = memory,
                                     .column_indices = memory,
                                     .index = index,
                                     .rows = 100,
                                     .cols = 100,
                                     .nonzeros = 500},
                             .value_positions = of_transpose},
                            {.groups = numbers,
                             .headers = numbers,
                             .nonzero_offsets = numbers,
                             .unit_offsets = numbers,
                             .sources = positions});
}

/// The kernels that pack values: those of every kind from every type that it takes.
void add_packing(Requests& requests) {
  for (const ops::StripKind& kind : ops::strip_kinds())
    for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      if (!ops::packs(kind.mode, element)) continue;
      for (const bool placed : {false, true}) {
        const codegen::KernelRequest request =
            ops::pack_strips::request({.kind = kind, .placed = placed, .element = element});
        requests.emplace(request.expression, request);
      }
    }
  for (const Dtype element : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const int gap_bits : {4, 8}) {
      const codegen::KernelRequest request = ops::pack_runs::request({.element = element, .gap_bits = gap_bits});
      requests.emplace(request.expression, request);
    }
  const codegen::KernelRequest sparse = ops::pack_sparse::request();
  requests.emplace(sparse.expression, sparse);
}

Requests collect() {
  test::FakeDevice device;
  Requests requests;
  ops::StepKernels kernels([&](const codegen::KernelRequest& request, std::int64_t) {
    requests.emplace(request.expression, request);
    return std::make_shared<test::FakeKernel>(request.expression);
  });
  const ops::Queue queue(device, kernels, nullptr);
  for (const IndexType index : {IndexType::u16, IndexType::i32})
    for (const bool wide : {false, true}) queue_forms(queue, index, wide);
  char memory[64] = {};
  ops::exclusive_scan(queue, reinterpret_cast<std::uint32_t*>(memory), 100'000, memory, false);
  ops::exclusive_scan(queue, reinterpret_cast<std::uint32_t*>(memory), 100'000, memory, true);
  ops::cut_strips(queue, {.row_offsets = memory, .rows = 100, .cols = 100, .nonzeros = 500}, 32,
                  reinterpret_cast<Strip*>(memory), 200);
  ops::cut_chunks(queue, {.row_offsets = memory, .rows = 100, .cols = 100, .nonzeros = 500}, 32,
                  reinterpret_cast<ChunkStart*>(memory), 19);
  for (const IndexType index : {IndexType::u16, IndexType::i32})
    ops::find_panel_starts(
        queue,
        {.row_offsets = memory, .column_indices = memory, .index = index, .rows = 100, .cols = 100, .nonzeros = 500},
        64, reinterpret_cast<std::int32_t*>(memory));
  for (const IndexType index : {IndexType::u16, IndexType::i32})
    for (const bool wide : {false, true}) {
      const ops::CsrArrays csr{
          .row_offsets = memory, .wide_offsets = wide, .column_indices = memory, .index = index, .rows = 100};
      auto* const numbers = reinterpret_cast<std::int32_t*>(memory);
      constexpr SlotShape shape{.entries = 32, .most_pieces = 4};
      ops::find_first_slots(queue, csr, numbers, shape, numbers);
      ops::fill_row_slots(queue, {.csr = csr, .row_order = numbers, .first_slots = numbers}, shape, 100,
                          reinterpret_cast<RowRecord*>(memory), memory);
    }
  queue_masks(queue);
  queue_packed_forms(queue);
  queue_run_forms(queue);
  queue_sparse_forms(queue);
  queue_tile_lists(queue);
  add_packing(requests);
  return requests;
}

}  // namespace

TEST_CASE(
    "every kernel of topologies and tools compiles, with no more than saved predicates as spills, for sm_90 and the "
    "oldest or newest target") {
  const auto nvrtc = test::nvrtc_for("compile sweep of steps");
  if (!nvrtc) return;
  const Requests requests = collect();
  CHECK(requests.size() > 51);
  std::vector<device::Source> sources;
  const std::vector<std::string> known = device::nvrtc_architectures(*nvrtc);
  bool is_odd = false;  // of the oldest and the newest each takes every other kernel
  for (const auto& [expression, request] : requests) {
    sources.push_back(codegen::make_source(request, "sm_90"));
    sources.push_back(codegen::make_source(request, is_odd ? known.front() : known.back()));
    is_odd = !is_odd;
  }

  std::vector<std::string> complaints(sources.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        const std::int64_t spill_bytes = nvrtc->compile(sources[i]).spill_bytes;
        if (spill_bytes > tolerated_spill_bytes) complaints[i] = fmt::format("it spills {} bytes", spill_bytes);
      } catch (const Error& error) {
        complaints[i] = error.what();
      }
    }
  };
  std::thread second(work);
  work();
  second.join();
  for (std::size_t i = 0; i < sources.size(); ++i)
    CHECK_MESSAGE(complaints[i].empty(),
                  sources[i].architecture << ": " << sources[i].expression << ": " << complaints[i]);
  std::printf("compile sweep of steps: %zu kernels for 2 of 3 architectures each\n", requests.size());
}
