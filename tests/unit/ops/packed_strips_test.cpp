#include "ops/topology/packed_strips.hpp"

#include <doctest/doctest.h>

#include "contains.hpp"
#include "ops/spmm/packed_operand.hpp"
#include "ops/topology/pack_strips.hpp"
#include "sparse/generate.hpp"
#include "sparse/packed_strips.hpp"

using namespace vostok;

namespace {

TopologyStatistics statistics_of(const sparse::Csr& csr) {
  return sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices);
}

PackedStructure structure_of(const sparse::PackedForm& form) {
  return {.headers = nullptr,
          .row_starts = nullptr,
          .slot_offsets = nullptr,
          .slots = nullptr,
          .value_places = nullptr,
          .unit_offsets = {},
          .left_starts = nullptr,
          .left_places = nullptr,
          .left_sources = nullptr,
          .nonzeros = static_cast<unsigned>(form.nonzeros()),
          .row_strips = static_cast<unsigned>(form.row_strips),
          .k_blocks = static_cast<unsigned>(form.k_blocks),
          .units = {form.unit_offsets(1).back(), form.unit_offsets(2).back()},
          .left = static_cast<unsigned>(form.left_places.size()),
          .grain = form.grain};
}

}  // namespace

TEST_CASE("every kind of packed strips has a format's name, and every name its kind") {
  CHECK(ops::packed_format({.mode = PackedMode::f16x3}) == "strip16x64/pair/f16x3");
  CHECK(ops::packed_format({.mode = PackedMode::bf16x1, .grain = PackedGrain::four}) == "strip16x64/four/bf16x1");
  CHECK(ops::packed_format({.mode = PackedMode::f16x3, .marked = true}) == "strip16x64/pair/f16x3/marked");
  CHECK(ops::strip_kinds().size() == 21);
  for (const ops::StripKind& kind : ops::strip_kinds()) CHECK(ops::find_strip_kind(ops::packed_format(kind)) == kind);
  for (const char* const other : {"", "csr", "strip16x64/pair/", "strip16x64/pair/f16x4", "strip16x64/five/f16x3",
                                  "f16x3", "strip16x64/pair/f16x1/marked"})
    CHECK_FALSE(ops::find_strip_kind(other));
}

TEST_CASE("the room that statistics promise holds the packed values of every structure, with little to spare") {
  constexpr std::uint64_t seed = 31;
  INFO("seed " << seed);
  for (const double sparsity : {0.0, 0.3, 0.7, 0.9, 0.99, 1.0})
    for (const auto& [rows, cols] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {256, 64}, {300, 333}, {1000, 65}, {3, 0}, {512, 512}}) {
      INFO(rows << " x " << cols << ", sparsity " << sparsity);
      const sparse::Csr csr = sparse::uniform(rows, cols, sparsity, seed);
      for (const ops::StripKind& kind : ops::strip_kinds()) {
        INFO(ops::packed_format(kind));
        const PackedStructure structure = structure_of(sparse::packed_form(csr, {}, kind.grain));
        const ops::PackedLayout exact = ops::packed_layout(kind, structure);
        const ops::PackedLayout room = ops::packed_layout_bound(kind, statistics_of(csr));
        CHECK(exact.exact_offset_bytes - exact.left_offset_bytes ==
              std::int64_t{structure.left} * std::int64_t{sizeof(LeftEntry)});
        CHECK(exact.used_bytes - exact.exact_offset_bytes == (kind.marked ? csr.nonzeros() * 4 : 0));
        CHECK(exact.used_bytes <= exact.set_bytes);
        if (kind.marked) continue;  // values that each call packs are read from it
        CHECK(exact.data_offset_bytes == room.data_offset_bytes);
        CHECK(exact.left_offset_bytes <= room.left_offset_bytes);
        CHECK(exact.set_bytes <= room.set_bytes);
        // Half of the nonzeros may be left over, where fours are full; at random far fewer are.
        CHECK(room.set_bytes <= exact.set_bytes * (kind.grain == PackedGrain::four ? 4 : 3) / 2 + 512 +
                                    (kind.grain == PackedGrain::four ? csr.nonzeros() * 4 : 0));
        CHECK(exact.set_bytes % 256 == 0);
        CHECK(room.set_bytes % 256 == 0);
      }
    }
}

TEST_CASE("strips are declined where a column is named twice, where nearly all would be empty, and past 32 bits") {
  CHECK_FALSE(ops::packed_strips_declined(statistics_of(sparse::uniform(100, 100, 0.5, 1))));
  CHECK_FALSE(ops::packed_strips_declined({.rows = 8192, .cols = 8192, .nonzeros = 1000, .longest_row = 10}));
  const auto declined = [](const TopologyStatistics& statistics) {
    return ops::packed_strips_declined(statistics).value_or("not declined");
  };
  CHECK(test::contains(declined({.rows = 9, .cols = 9, .nonzeros = 9, .longest_row = 3, .duplicates = true}), "twice"));
  CHECK(test::contains(declined({.rows = 1 << 20, .cols = 1 << 20, .nonzeros = 5'000'000, .longest_row = 100}),
                       "headers"));
  for (const std::int64_t below : {0, 1, 512})
    CHECK(test::contains(
        declined(
            {.rows = 1 << 17, .cols = 1 << 17, .nonzeros = (std::int64_t{1} << 31) - below, .longest_row = 1 << 17}),
        "32 bits"));
}

TEST_CASE(
    "a binding finds its strips in the workspace where values change, and in the packed values where they persist") {
  const sparse::Csr csr = sparse::uniform(300, 200, 0.8, 2);
  const sparse::PackedForm form = sparse::packed_form(csr);
  alignas(256) static unsigned char memory[1 << 16];
  const unsigned offsets[2] = {};
  ops::TopologyPointers topology;
  topology.packed = structure_of(form);
  topology.packed.unit_offsets[1] = offsets;
  for (const bool batched : {false, true}) {
    Spmm problem{.n = 8, .batch = 3, .values_per_batch = batched};
    const auto query = [&] { return *ops::make_query(problem, statistics_of(csr), {8, 8, 1}, nullptr); };
    const SpmmArguments call{.packed = {nullptr, memory}, .workspace = memory + 16};

    const ops::PackedOperand in_workspace = ops::packed_operand(query(), {.mode = PackedMode::f16x3}, topology, 1024);
    const PackedStrips first = in_workspace.strips(call);
    CHECK(first.offsets == offsets);
    CHECK(reinterpret_cast<const unsigned char*>(first.row_scales) == memory + 16 + 1024);
    CHECK(first.data == memory + 16 + 1024 + form.row_strips * 64);
    CHECK((first.set_bytes > 0) == batched);
    CHECK(ops::packed_workspace_bytes(query(), {.mode = PackedMode::f16x3}) ==
          (batched ? 3 * first.set_bytes
                   : ops::packed_layout_bound({.mode = PackedMode::f16x3}, statistics_of(csr)).set_bytes));
    const PackedStrips third = packed_set(first, 2);
    CHECK(third.data == first.data + 2 * first.set_bytes);
    CHECK(reinterpret_cast<const unsigned char*>(third.row_scales) ==
          reinterpret_cast<const unsigned char*>(first.row_scales) + 2 * first.set_bytes);

    problem.value_lifetime = ValueLifetime::persistent;
    const PackedStrips persistent = ops::packed_operand(query(), {.mode = PackedMode::f16x3}, topology, 0).strips(call);
    CHECK(reinterpret_cast<const unsigned char*>(persistent.row_scales) == memory);
    CHECK(persistent.set_bytes <= first.set_bytes);
    CHECK(ops::packed_workspace_bytes(query(), {.mode = PackedMode::f16x3}) == 0);
    CHECK(ops::packed_operand(query(), {.mode = PackedMode::bf16x3}, topology, 0).strips(call).row_scales == nullptr);
  }
}

TEST_CASE("values of a transpose are packed by neighbouring warps, where rows are not scaled, and each strip once") {
  const TopologyStatistics layer{.rows = 4096, .cols = 1000, .nonzeros = 400'000, .longest_row = 300};
  for (const bool transposed : {false, true}) {
    const auto query = ops::make_query({.n = 64, .element = Dtype::bf16, .sparse_transposed = transposed}, layer,
                                       {64, 64, 1}, nullptr);
    const ops::Launch launch = ops::pack_strips_launch(*query, {.mode = PackedMode::bf16x1}, {}, 0);
    CHECK(test::contains(launch.request().expression, "placed = true") == transposed);
  }
  for (const ops::StripKind& kind : ops::strip_kinds())
    for (const bool placed : {false, true}) {
      ops::PackStrips what{.kind = kind, .placed = placed, .element = Dtype::f32, .sets = 3};
      what.structure.row_strips = 48;
      what.structure.k_blocks = 16;
      PackStripsArgs args;
      const device::Dim3 grid = ops::pack_strips::bind(what, {}, args);
      const bool beside = placed && !packed_scales_rows(kind.mode) && kind.grain != PackedGrain::four;
      const unsigned warps = ops::pack_strips::shape(what).block.x / packed_lanes();
      INFO(ops::packed_format(kind) << ", placed: " << placed);
      CHECK(grid.x * (beside ? warps : 1) == what.structure.row_strips);
      CHECK(grid.y == args.splits * what.sets);
      CHECK(args.splits >= 1);
      CHECK(args.splits <= what.structure.k_blocks);
    }
}

TEST_CASE(
    "packing at every call is expected to take longer with more strips, nonzeros, terms and sets, in fuller strips, "
    "and for a transpose") {
  const TopologyStatistics few{.rows = 4096, .cols = 4096, .nonzeros = 1'000'000, .longest_row = 300};
  TopologyStatistics wide = few, full = few;
  wide.cols *= 4;
  full.nonzeros *= 4;
  const auto us = [](const Spmm& problem, const TopologyStatistics& statistics, PackedMode mode = PackedMode::f16x3,
                     bool crowded = false) {
    return ops::packing_us(*ops::make_query(problem, statistics, {64, 64, 1}, nullptr), {.mode = mode}, crowded);
  };
  const double standard = us({.n = 64}, few);
  CHECK(us({.n = 64}, wide) > 1.5 * standard);
  CHECK(us({.n = 64}, full) > 1.3 * standard);
  CHECK(us({.n = 64}, few, PackedMode::f16x1) == doctest::Approx(standard / 2).epsilon(0.1));
  CHECK(us({.n = 64, .sparse_transposed = true}, few) > 1.5 * standard);
  // Sets are packed side by side: what one warp waits for is waited for once.
  const auto of_sets = [&](int sets, PackedMode mode) {
    return us({.n = 64, .batch = sets, .values_per_batch = true}, few, mode);
  };
  const double set = of_sets(2, PackedMode::f16x3) - of_sets(1, PackedMode::f16x3);
  CHECK(of_sets(1, PackedMode::f16x3) == doctest::Approx(standard));
  CHECK(of_sets(3, PackedMode::f16x3) == doctest::Approx(standard + 2 * set));
  CHECK(of_sets(2, PackedMode::f16x1) - of_sets(1, PackedMode::f16x1) == doctest::Approx(set / 2));
  CHECK(set > standard / 2);
  CHECK(set < standard);
  CHECK(us({.n = 64, .batch = 3}, few) == doctest::Approx(standard));
  // Few strips: the machine is idle, and a warp takes its time for a full one.
  const TopologyStatistics thin{.rows = 64, .cols = 576, .nonzeros = 1000, .longest_row = 30},
      thick{.rows = 64, .cols = 576, .nonzeros = 30'000, .longest_row = 500};
  CHECK(us({.n = 64}, thin) > 2);
  CHECK(us({.n = 64}, thick) > 1.5 * us({.n = 64}, thin));
  CHECK(us({.n = 64}, thick, PackedMode::f16x3, true) > 1.5 * us({.n = 64}, thick));
}
