// Row slots made on the device against the host's, in several thread orders.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "ops/topology/row_slots.hpp"
#include "sparse/row_slots.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 71;

constexpr std::array shapes = {SlotShape{32, 1}, SlotShape{4, 2}, SlotShape{4, 8}, SlotShape{64, 16}};

/// None or one of everything, empty rows, a row far longer than the others, columns in any order, indices in 32 bits.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list;
  list.push_back(test::uneven_mask(130, 333, seed));
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back({.rows = 2, .cols = 9, .row_offsets = {0, 1, 6}, .column_indices = {8, 7, 1, 1, 0, 5}});
  list.push_back(test::mask_of_wide_columns(40, seed + 3));
  return test::affordable(std::move(list), 2);
}

std::vector<std::int32_t> read_columns(device::Device& device, const void* memory, std::size_t count, IndexType index) {
  if (index == IndexType::i32) return test::read<std::int32_t>(device, memory, count);
  const std::vector<std::uint16_t> narrow = test::read<std::uint16_t>(device, memory, count);
  return {narrow.begin(), narrow.end()};
}

bool same(const RowRecord& a, const RowRecord& b) {
  return a.row == b.row && a.length == b.length && a.begin_and_pieces == b.begin_and_pieces;
}

/// What a device made starts with the host's slots; behind them are empty ones.
void check_slots(const test::StepDevice& on, const RowSlots& made, const sparse::HostRowSlots& expected,
                 const SlotShape& shape, IndexType index) {
  REQUIRE(made.count >= expected.records.size());
  const std::vector<RowRecord> records = test::read<RowRecord>(on.device(), made.records, made.count);
  std::vector<std::int32_t> columns =
      read_columns(on.device(), made.columns, std::size_t{made.count} * static_cast<unsigned>(shape.entries), index);
  CHECK(std::equal(expected.records.begin(), expected.records.end(), records.begin(), same));
  CHECK(std::all_of(records.begin() + std::ssize(expected.records), records.end(),
                    [](const RowRecord& r) { return r.row == -1 && r.length == 0; }));
  CHECK(std::equal(expected.columns.begin(), expected.columns.end(), columns.begin()));
}

}  // namespace

TEST_CASE("row slots made on a device are the host's, also where the structure came from the device") {
  INFO("seed " << seed);
  for (const test::StepDevice& on : test::step_devices())
    for (const sparse::Csr& matrix : matrices())
      for (const SlotShape& shape : shapes) {
        INFO(on.on.name << ": " << matrix.rows << " x " << matrix.cols << ", " << matrix.nonzeros() << " nonzeros, "
                        << shape.entries << " entries a slot, " << shape.most_pieces << " pieces");
        const sparse::HostRowSlots expected = sparse::row_slots(matrix, shape);
        const IndexType index = ops::narrowest_index(matrix.cols);
        const auto from_host = on.topology(matrix.view());
        const RowSlots exact = from_host->pointers({.index = index, .slots = shape}).slots;
        CHECK(exact.count == expected.records.size());
        check_slots(on, exact, expected, shape, index);
        const std::vector<std::int32_t> offsets(matrix.row_offsets.begin(), matrix.row_offsets.end());
        const test::DeviceVector<std::int32_t> device_offsets(on.device(), offsets),
            device_columns(on.device(), matrix.column_indices);
        CsrView view = matrix.view();
        view.row_offsets = device_offsets.data();
        view.column_indices = device_columns.data();
        check_slots(on, on.topology(view)->pointers({.index = index, .slots = shape}).slots, expected, shape, index);
      }
}

TEST_CASE("the pieces of a row are equal shares in neighbouring slots, aligned to their number") {
  const sparse::Csr matrix = test::uneven_mask(500, 700, seed);
  constexpr SlotShape shape{8, 16};
  const sparse::HostRowSlots slots = sparse::row_slots(matrix, shape);
  std::vector<std::int64_t> covered(static_cast<std::size_t>(matrix.rows));
  for (std::size_t slot = 0; slot < slots.records.size();) {
    const RowRecord& first = slots.records[slot];
    const unsigned pieces = pieces_of(first);
    REQUIRE((pieces & (pieces - 1)) == 0);
    REQUIRE(slot % pieces == 0);
    for (unsigned piece = 0; piece < pieces; ++piece, ++slot) {
      const RowRecord& record = slots.records[slot];
      REQUIRE(
          (record.row == first.row && pieces_of(record) == pieces && (record.length <= shape.entries || pieces == 16)));
      auto& length = covered[static_cast<std::size_t>(record.row)];
      REQUIRE(static_cast<std::int64_t>(begin_of(record)) ==
              matrix.row_offsets[static_cast<std::size_t>(record.row)] + length);
      length += record.length;
    }
  }
  for (std::size_t row = 0; row < covered.size(); ++row)
    REQUIRE(covered[row] == matrix.row_offsets[row + 1] - matrix.row_offsets[row]);
  CHECK(sparse::first_slots(matrix.row_offsets, shape).back() == std::ssize(slots.records));
}

TEST_CASE(
    "row slots have room for any structure with the same statistics, and are declined where most would be empty") {
  const sparse::Csr matrix = test::uneven_mask(500, 700, seed);
  const TopologyStatistics statistics =
      sparse::statistics(matrix.rows, matrix.cols, matrix.row_offsets, matrix.column_indices);
  for (const SlotShape& shape : shapes)
    CHECK(sparse::first_slots(matrix.row_offsets, shape).back() <= ops::slot_room(statistics, shape));
  CHECK(!ops::row_slots_declined({.rows = 2048, .cols = 512, .nonzeros = 1 << 16}, {64, 4}, IndexType::u16));
  CHECK(ops::row_slots_declined({.rows = 1 << 22, .cols = 512, .nonzeros = 1 << 10}, {64, 1}, IndexType::u16));
  CHECK(ops::row_slots_declined(
      {.rows = 8, .cols = 512, .nonzeros = std::int64_t{1} << 33, .longest_row = std::int64_t{1} << 32}, {64, 1},
      IndexType::u16));
}
