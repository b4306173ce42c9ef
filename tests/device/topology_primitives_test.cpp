// Sums, sorts and the derived forms against the host, in several thread orders.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "device/topology_harness.hpp"
#include "ops/topology/chunks.hpp"
#include "sparse/chunks.hpp"
#include "sparse/row_order.hpp"
#include "sparse/strips.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;
using test::DeviceVector;

namespace {

constexpr std::uint64_t seed = 31;

std::vector<std::uint32_t> random_numbers(std::int64_t count, std::int64_t below, std::uint64_t of_seed) {
  sparse::Random random(of_seed);
  std::vector<std::uint32_t> numbers(static_cast<std::size_t>(count));
  for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(random.below(below));
  return numbers;
}

template <class Offset>
std::vector<Offset> scanned(const std::vector<std::uint32_t>& counts) {
  std::vector<Offset> offsets = {0};
  for (const std::uint32_t count : counts) offsets.push_back(offsets.back() + static_cast<Offset>(count));
  return offsets;
}

template <class Offset>
std::vector<Offset> scan_on(const test::StepDevice& on, const std::vector<std::uint32_t>& counts) {
  const DeviceVector<std::uint32_t> input(on.device(), counts);
  const DeviceVector<Offset> output(on.device(), counts.size() + 1);
  ops::exclusive_scan(on.queue(), input.data(), static_cast<std::int64_t>(counts.size()), output.data(),
                      sizeof(Offset) == 8);
  return output.read();
}

/// Keys of type Key, sorted on the device: positions.
template <class Key>
std::vector<std::int32_t> sort_on(const test::StepDevice& on, const std::vector<Key>& keys, int key_bits) {
  const DeviceVector<Key> input(on.device(), keys);
  const DeviceVector<std::int32_t> output(on.device(), keys.size());
  ops::sort_positions(on.queue(),
                      {.keys = input.data(),
                       .type = sizeof(Key) == 2 ? IntegerType::u16 : IntegerType::i32,
                       .count = static_cast<std::int64_t>(keys.size()),
                       .key_bits = key_bits},
                      output.data());
  return output.read();
}

template <class Key>
std::vector<std::int32_t> sorted_positions(const std::vector<Key>& keys) {
  std::vector<std::int32_t> positions(keys.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(),
                   [&](std::int32_t a, std::int32_t b) { return keys[a] < keys[b]; });
  return positions;
}

}  // namespace

TEST_CASE("an exclusive scan is right for every size around its tiles, in 32 and 64 bits") {
  MESSAGE("seed ", seed);
  for (const test::StepDevice& on : test::step_devices()) {
    for (const std::int64_t count :
         test::affordable<std::int64_t>({0, 1, 31, 256, 1023, 1024, 1025, 4096, 5000, 20'001, 4097}, 1)) {
      INFO(on.on.name, ", ", count, " counts");
      const std::vector<std::uint32_t> counts = random_numbers(count, 1000, seed);
      CHECK(scan_on<std::int32_t>(on, counts) == scanned<std::int32_t>(counts));
    }
    const std::vector<std::uint32_t> large = random_numbers(5003, std::int64_t{1} << 32, seed + 1);
    CHECK(scan_on<std::int64_t>(on, large) == scanned<std::int64_t>(large));
  }
}

TEST_CASE("a sort is stable and right for every size around its tiles, every number of passes and either key type") {
  MESSAGE("seed ", seed);
  for (const test::StepDevice& on : test::step_devices()) {
    const std::vector<std::pair<std::int64_t, int>> cases = {{0, 8},     {1, 31},    {2, 11},  {255, 1},
                                                             {2048, 17}, {4111, 31}, {2049, 9}};
    for (const auto& [count, key_bits] : test::affordable(cases, 1)) {
      CAPTURE(on.on.name);
      CAPTURE(count);
      CAPTURE(key_bits);
      const std::vector<std::uint32_t> keys =
          random_numbers(count, std::int64_t{1} << key_bits, seed + static_cast<std::uint64_t>(key_bits));
      CHECK(sort_on(on, keys, key_bits) == sorted_positions(keys));
    }
    const std::vector<std::uint32_t> wide = random_numbers(3001, 65536, seed);
    const std::vector<std::uint16_t> keys(wide.begin(), wide.end());
    CHECK(sort_on(on, keys, 16) == sorted_positions(keys));
    const std::vector<std::uint32_t> equal(5000, 7);
    CHECK(sort_on(on, equal, 8) == sorted_positions(equal));
  }
}

TEST_CASE("row orders and strips are those of the host, with 32-bit and 64-bit offsets") {
  for (const test::StepDevice& on : test::step_devices()) {
    for (const sparse::Csr& csr : test::sample_structures(seed)) {
      INFO(on.on.name, ": ", csr.rows, " x ", csr.cols, ", ", csr.nonzeros(), " nonzeros");
      const TopologyStatistics statistics = sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices);
      for (const bool wide : {false, true}) {
        const test::DeviceCsr device(on.device(), csr, IndexType::i32, wide);
        const DeviceVector<std::int32_t> order(on.device(), static_cast<std::size_t>(csr.rows));
        ops::order_rows(on.queue(), device.arrays(), statistics.longest_row, order.data());
        CHECK(order.read() == sparse::row_order(csr.row_offsets));
      }
      const test::DeviceCsr device(on.device(), csr);
      for (const int entries : {1, 3, 32}) {
        const std::vector<Strip> expected = sparse::strips(csr.row_offsets, entries);
        const std::int64_t room = ops::strip_room(statistics, entries);
        REQUIRE(room >= static_cast<std::int64_t>(expected.size()));
        const DeviceVector<Strip> strips(on.device(), static_cast<std::size_t>(room));
        ops::cut_strips(on.queue(), device.arrays(), entries, strips.data(), room);
        const std::vector<Strip> found = strips.read();
        for (std::size_t i = 0; i < found.size(); ++i) {
          const Strip& strip = found[i];
          if (i >= expected.size()) CHECK(strip.begin == strip.end);
          else
            CHECK((strip.row == expected[i].row && strip.begin == expected[i].begin && strip.end == expected[i].end &&
                   strip.first == expected[i].first));
        }
      }
    }
  }
}

TEST_CASE("chunks are those of the host") {
  for (const test::StepDevice& on : test::step_devices()) {
    for (const sparse::Csr& csr : test::sample_structures(seed)) {
      INFO(on.on.name, ": ", csr.rows, " x ", csr.cols, ", ", csr.nonzeros(), " nonzeros");
      const test::DeviceCsr device(on.device(), csr);
      for (const int items : {1, 8, 64}) {
        const std::vector<ChunkStart> expected = sparse::chunk_starts(csr.row_offsets, items);
        const DeviceVector<ChunkStart> chunks(on.device(), expected.size());
        ops::cut_chunks(on.queue(), device.arrays(), items, chunks.data(),
                        static_cast<std::int64_t>(expected.size()) - 1);
        const std::vector<ChunkStart> found = chunks.read();
        CHECK(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(ChunkStart)) == 0);
      }
    }
  }
}

TEST_CASE("transposes, linear indices and conversions are those of the host") {
  for (const test::StepDevice& on : test::step_devices()) {
    for (const sparse::Csr& csr : test::sample_structures(seed + 9)) {
      INFO(on.on.name, ": ", csr.rows, " x ", csr.cols, ", ", csr.nonzeros(), " nonzeros");
      const auto count = static_cast<std::size_t>(csr.nonzeros());
      const sparse::Transposed expected = sparse::transpose(csr);
      for (const IndexType index : {IndexType::u16, IndexType::i32}) {
        const test::DeviceCsr device(on.device(), csr, index);
        const DeviceVector<std::int32_t> positions(on.device(), count);
        const DeviceVector<std::uint16_t> rows(on.device(), count);
        ops::transpose(on.queue(), device.arrays(), positions.data(), rows.data(), IndexType::u16);
        CHECK(positions.read() == expected.value_positions);
        const std::vector<std::uint16_t> short_rows = rows.read();
        CHECK(std::vector<std::int32_t>(short_rows.begin(), short_rows.end()) == expected.csr.column_indices);

        const DeviceVector<std::int64_t> linear(on.device(), count);
        ops::linear_indices(on.queue(), device.arrays(), linear.data(), true);
        std::vector<std::int64_t> expected_linear;
        for (std::int64_t row = 0; row < csr.rows; ++row)
          for (std::int64_t i = csr.row_offsets[row]; i < csr.row_offsets[row + 1]; ++i)
            expected_linear.push_back(row * csr.cols + csr.column_indices[i]);
        CHECK(linear.read() == expected_linear);
      }
      const test::DeviceCsr device(on.device(), csr, IndexType::u16);
      const DeviceVector<std::int32_t> columns(on.device(), count);
      ops::gather(on.queue(), device.arrays().column_indices, IntegerType::u16, nullptr, csr.nonzeros(), columns.data(),
                  IntegerType::i32);
      CHECK(columns.read() == csr.column_indices);
    }
  }
}
