// Starts of panels made on the device against the host's, in several thread orders.
#include <doctest/doctest.h>

#include <array>

#include "device/topology_harness.hpp"
#include "device/uneven_mask.hpp"
#include "error_code.hpp"
#include "ops/topology/panels.hpp"
#include "sparse/panels.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 47;

constexpr std::array panel_sizes = {1, 64, 100, 256};

/// Sorted matrices: none or one of everything, panels that rows miss, repeated columns, indices in 32 bits.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list;
  list.push_back(test::uneven_mask(130, 333, seed));
  list.push_back({.rows = 0, .cols = 9});
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back({.rows = 2, .cols = 300, .row_offsets = {0, 4, 7}, .column_indices = {0, 63, 63, 299, 64, 64, 64}});
  list.push_back(test::mask_of_wide_columns(40, seed + 3));
  return test::affordable(std::move(list), 2);
}

}  // namespace

TEST_CASE("starts of panels made on a device are the host's") {
  INFO("seed " << seed);
  for (const test::StepDevice& on : test::step_devices())
    for (const sparse::Csr& matrix : matrices())
      for (const int panel_rows : panel_sizes) {
        INFO(on.on.name << ": " << matrix.rows << " x " << matrix.cols << ", " << matrix.nonzeros()
                        << " nonzeros, panels of " << panel_rows);
        const auto topology = on.topology(matrix.view());
        const std::vector<std::int32_t> expected = sparse::panel_starts(matrix, panel_rows);
        CHECK(test::read(on.device(), topology->pointers({.panel_rows = panel_rows}).panel_starts, expected.size()) ==
              expected);
      }
}

TEST_CASE(
    "starts of panels are made once for each size, count as the topology's memory, and are refused where rows are not "
    "sorted") {
  const test::StepDevice& on = test::step_devices().front();
  const sparse::Csr matrix = sparse::uniform(100, 200, 0.5, seed);
  const auto topology = on.topology(matrix.view());
  const std::int64_t before = topology->device_bytes();
  const std::int32_t* const first = topology->pointers({.panel_rows = 64}).panel_starts;
  CHECK(topology->device_bytes() >= before + 5 * 100 * 4);
  CHECK(topology->pointers({.panel_rows = 128}).panel_starts != first);
  CHECK(topology->pointers({.panel_rows = 64}).panel_starts == first);
  CHECK(topology->pointers({}).panel_starts == nullptr);

  const sparse::Csr unsorted{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = {3, 1}};
  const auto refused = on.topology(unsorted.view());
  CHECK(test::code_of([&] { refused->pointers({.panel_rows = 64}); }) == ErrorCode::unsupported);
}

TEST_CASE(
    "panels are declined of matrices whose rows are not sorted, and where nearly all rows would be empty in nearly all "
    "panels") {
  CHECK(!ops::panels_declined({.rows = 2048, .cols = 512, .nonzeros = 1 << 19}, 256));
  CHECK(ops::panels_declined({.rows = 2048, .cols = 512, .nonzeros = 1 << 19, .sorted = false}, 256));
  CHECK(ops::panels_declined({.rows = 1 << 20, .cols = 1 << 20, .nonzeros = 1 << 20}, 256));
  CHECK(ops::panels_declined({.rows = 1 << 20, .cols = 512, .nonzeros = std::int64_t{1} << 31}, 256));
}
