// Topologies from device arrays and from host arrays: the same in everything but where the work was done.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>

#include "device/topology_harness.hpp"
#include "error_code.hpp"
#include "sparse/chunks.hpp"
#include "sparse/row_order.hpp"
#include "sparse/strips.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 77;

void check_equal(const TopologyStatistics& found, const TopologyStatistics& expected) {
  CHECK(found.rows == expected.rows);
  CHECK(found.cols == expected.cols);
  CHECK(found.nonzeros == expected.nonzeros);
  CHECK(found.longest_row == expected.longest_row);
  CHECK(found.empty_rows == expected.empty_rows);
  CHECK(found.mean_row == expected.mean_row);
  CHECK(found.row_variation == expected.row_variation);
  CHECK(found.run_share == expected.run_share);
  CHECK(found.span_share == expected.span_share);
  CHECK(found.sorted == expected.sorted);
  CHECK(found.duplicates == expected.duplicates);
}

/// Every form of a structure or its transpose, against the host's.
void check_forms(const test::StepDevice& on, TopologyState& topology, const sparse::Csr& expected, bool transposed) {
  device::Device& device = on.device();
  const ops::TopologyPointers narrow = topology.pointers(
      {.index = IndexType::u16, .transposed = transposed, .row_order = true, .strip_entries = 4, .chunk_items = 8});
  const ops::TopologyPointers wide = topology.pointers({.index = IndexType::i32, .transposed = transposed});
  const std::vector<std::int32_t> offsets = test::read<std::int32_t>(device, narrow.row_offsets, expected.rows + 1);
  CHECK(std::vector<std::int64_t>(offsets.begin(), offsets.end()) == expected.row_offsets);
  CHECK(test::read<std::int32_t>(device, wide.column_indices, expected.nonzeros()) == expected.column_indices);
  const auto columns = test::read<std::uint16_t>(device, narrow.column_indices, expected.nonzeros());
  CHECK(std::vector<std::int32_t>(columns.begin(), columns.end()) == expected.column_indices);
  CHECK(test::read<std::int32_t>(device, narrow.row_order, expected.rows) == sparse::row_order(expected.row_offsets));
  CHECK(wide.row_order == nullptr);
  CHECK(wide.strips == nullptr);
  const std::vector<Strip> strips = sparse::strips(expected.row_offsets, 4);
  REQUIRE(narrow.strip_count >= static_cast<std::int64_t>(strips.size()));
  const auto found = test::read<Strip>(device, narrow.strips, static_cast<std::int64_t>(strips.size()));
  CHECK((strips.empty() || std::memcmp(found.data(), strips.data(), strips.size() * sizeof(Strip)) == 0));
  const std::vector<ChunkStart> chunks = sparse::chunk_starts(expected.row_offsets, 8);
  REQUIRE(narrow.chunk_count + 1 == static_cast<std::int64_t>(chunks.size()));
  const auto found_chunks = test::read<ChunkStart>(device, narrow.chunks, narrow.chunk_count + 1);
  CHECK(std::memcmp(found_chunks.data(), chunks.data(), chunks.size() * sizeof(ChunkStart)) == 0);
  CHECK(wide.chunks == nullptr);
}

/// Counts what the library holds and how often it asked.
class CountingAllocator : public Allocator {
 public:
  void* allocate(std::int64_t bytes) override {
    live_bytes += bytes;
    ++calls;
    void* const memory = std::aligned_alloc(256, static_cast<std::size_t>((bytes + 511) / 256 * 256));
    *static_cast<std::int64_t*>(memory) = bytes;
    return static_cast<char*>(memory) + 256;
  }
  void release(void* memory) noexcept override {
    void* const whole = static_cast<char*>(memory) - 256;
    live_bytes -= *static_cast<std::int64_t*>(whole);
    std::free(whole);
  }
  std::atomic<std::int64_t> live_bytes = 0;
  std::atomic<std::int64_t> calls = 0;
};

}  // namespace

TEST_CASE("topologies from device arrays and from host arrays have the same statistics and forms") {
  MESSAGE("seed ", seed);
  for (const test::StepDevice& on : test::step_devices()) {
    int turn = 0;
    for (const sparse::Csr& csr : test::sample_structures(seed)) {
      INFO(on.on.name, ": ", csr.rows, " x ", csr.cols, ", ", csr.nonzeros(), " nonzeros");
      const bool wide = turn % 2 == 0;
      const IndexType index = turn % 3 == 0 ? IndexType::i32 : IndexType::u16;
      ++turn;
      const test::DeviceCsr arrays(on.device(), csr, index, wide);
      const auto device_built = on.topology(arrays.view(turn % 4 < 2));
      const auto host_built = on.topology(csr.view());
      const TopologyStatistics expected = sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices);
      const sparse::Csr transposed = sparse::transpose(csr).csr;
      TopologyStatistics expected_transposed =
          sparse::statistics(transposed.rows, transposed.cols, transposed.row_offsets, transposed.column_indices);
      expected_transposed.run_share = expected.run_share;  // a transpose's own runs are not measured
      expected_transposed.span_share = expected.span_share;
      for (const auto& topology : {device_built, host_built}) {
        check_equal(topology->statistics(), expected);
        check_equal(topology->statistics(true), expected_transposed);
        const sparse::Csr copy = topology->host_copy();
        CHECK(copy.row_offsets == csr.row_offsets);
        CHECK(copy.column_indices == csr.column_indices);
        check_forms(on, *topology, csr, false);
        check_forms(on, *topology, transposed, true);
        const ops::TopologyPointers pointers = topology->pointers({.transposed = true});
        CHECK(test::read<std::int32_t>(on.device(), pointers.value_positions, csr.nonzeros()) ==
              sparse::transpose(csr).value_positions);
        const std::int64_t bytes = topology->device_bytes();
        check_forms(on, *topology, csr, false);
        CHECK(topology->device_bytes() == bytes);
      }
    }
  }
}

TEST_CASE("runs are counted within rows, and not along a diagonal") {
  constexpr std::int64_t size = 100;
  sparse::Csr diagonal{.rows = size, .cols = size};
  sparse::Csr rows{.rows = 4, .cols = 2 * size};
  const auto append = [](sparse::Csr& csr, std::int32_t first, std::int32_t count) {
    for (std::int32_t column = first; column < first + count; ++column) csr.column_indices.push_back(column);
    csr.row_offsets.push_back(csr.nonzeros());
  };
  for (std::int32_t row = 0; row < size; ++row) append(diagonal, row, 1);
  for (const std::int32_t count : {20, 31, 32, 40})
    append(rows, static_cast<std::int32_t>(rows.nonzeros()), count);  // each goes on where the last ends
  for (const test::StepDevice& on : test::step_devices()) {
    const auto share = [&](const sparse::Csr& csr, bool wide) {
      const test::DeviceCsr arrays(on.device(), csr, IndexType::i32, wide);
      const double on_device = on.topology(arrays.view(true))->statistics().run_share;
      CHECK(on_device == on.topology(csr.view())->statistics().run_share);
      return on_device;
    };
    for (const bool wide : {false, true}) {
      CHECK(share(diagonal, wide) == 0);
      CHECK(share(rows, wide) == 10.0 / 123);
    }
  }
}

TEST_CASE("repeats among unsorted columns are found, near and far") {
  for (const test::StepDevice& on : test::step_devices()) {
    const auto duplicates_in = [&](const std::vector<std::int32_t>& columns) {
      const sparse::Csr csr{.rows = 2,
                            .cols = 9,
                            .row_offsets = {0, 4, static_cast<std::int64_t>(columns.size())},
                            .column_indices = columns};
      const test::DeviceCsr arrays(on.device(), csr);
      const auto topology = on.topology(arrays.view(true));
      check_equal(topology->statistics(), sparse::statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices));
      return topology->statistics().duplicates;
    };
    CHECK(duplicates_in({5, 1, 2, 5, 7, 8}));
    CHECK(duplicates_in({0, 1, 2, 3, 4, 4}));
    CHECK_FALSE(duplicates_in({5, 1, 2, 3, 3, 4}));
    CHECK_FALSE(duplicates_in({0, 1, 2, 5, 5, 8}));
  }
}

TEST_CASE("an invalid structure is refused with the same words wherever it lies") {
  for (const test::StepDevice& on : test::step_devices()) {
    const auto check = [&](const sparse::Csr& csr) {
      const std::int64_t counted = csr.nonzeros();
      for (const std::int64_t nonzeros : {std::int64_t{-1}, counted}) {
        std::string from_host, from_device;
        CsrView view = csr.view();
        view.nonzeros = nonzeros;
        const ErrorCode code = test::code_of([&] { on.topology(view); }, &from_host);
        const test::DeviceVector<std::int64_t> offsets(on.device(), csr.row_offsets);
        const test::DeviceVector<std::int32_t> columns(on.device(), csr.column_indices);
        view.row_offsets = offsets.data();
        view.column_indices = columns.data();
        CHECK(test::code_of([&] { on.topology(view); }, &from_device) == code);
        CHECK(code == ErrorCode::invalid_topology);
        CHECK(from_device == from_host);
      }
    };
    check({.rows = 3, .cols = 4, .row_offsets = {0, 3, 2, 4}, .column_indices = {0, 1, 2, 3}});
    check({.rows = 2, .cols = 4, .row_offsets = {1, 2, 4}, .column_indices = {0, 1, 2, 3}});
    check({.rows = 2, .cols = 4, .row_offsets = {0, 2, 4}, .column_indices = {0, 1, 4, -1}});
    check({.rows = 2, .cols = 4, .row_offsets = {0, 2, 4}, .column_indices = {0, 1, 3, -7}});
    check({.rows = 2, .cols = 2, .row_offsets = {0, 9, 4}, .column_indices = {0, 1, 0, 1}});
    const sparse::Csr short_of{.rows = 2, .cols = 2, .row_offsets = {0, 1, 2}, .column_indices = {0, 1}};
    CsrView promised = short_of.view();
    promised.nonzeros = 1;
    CHECK(test::code_of([&] { on.topology(promised); }) == ErrorCode::invalid_topology);
  }
}

TEST_CASE("a form that a topology cannot have is refused by name") {
  const test::StepDevice& on = test::step_devices().front();
  const sparse::Csr csr{.rows = 1, .cols = 70'000, .row_offsets = {0, 2}, .column_indices = {3, 69'999}};
  const auto topology = on.topology(csr.view());
  std::string message;
  CHECK(test::code_of([&] { topology->pointers({.index = IndexType::u16}); }, &message) == ErrorCode::unsupported);
  CHECK(message.find("70000") != std::string::npos);
  CHECK(test::read<std::int32_t>(on.device(), topology->pointers({}).column_indices, 2) == csr.column_indices);
}

TEST_CASE("a topology from host arrays runs no kernel until a form needs one") {
  const test::StepDevice on(test::kernel_devices().front());
  const auto topology = on.topology(sparse::uniform(40, 50, 0.7, seed).view());
  topology->pointers({.index = IndexType::u16, .row_order = true, .strip_entries = 8});
  CHECK(on.counters->kernels_compiled == 0);
  topology->pointers({.transposed = true});
  CHECK(on.counters->kernels_compiled > 0);
}

TEST_CASE("masks that are regrown fifty times hold the memory of one, and compile nothing after the first") {
  const auto allocator = std::make_shared<CountingAllocator>();
  const test::StepDevice on({"emulator", device::open_emulator({.allocator = allocator})});
  std::int64_t first_bytes = 0, first_compiled = 0;
  const std::uint64_t masks = test::thread_sanitized ? 2 : 50;
  for (std::uint64_t i = 0; i < masks; ++i) {
    {
      const sparse::Csr csr = sparse::uniform(64, 96, 0.9, seed + i);
      const test::DeviceCsr arrays(on.device(), csr);
      const auto topology = on.topology(arrays.view(true));
      topology->pointers({.index = IndexType::u16, .row_order = true});
      topology->pointers({.index = IndexType::u16, .strip_entries = 32});
      topology->pointers({.index = IndexType::u16, .transposed = true, .row_order = true});
      if (i == 0) first_bytes = topology->device_bytes();
      CHECK(topology->device_bytes() == first_bytes);
    }
    CHECK(allocator->live_bytes == 0);
    if (i == 0) first_compiled = on.counters->kernels_compiled;
  }
  CHECK(first_bytes > 0);
  CHECK(on.counters->kernels_compiled == first_compiled);
}
