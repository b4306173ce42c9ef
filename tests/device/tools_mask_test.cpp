// Mask generators: shapes, densities, and the same mask in every thread order and on every device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include <abi/random_keys.h>

#include "device/topology_harness.hpp"
#include "error_code.hpp"
#include "plan/tools.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 5;

/// A mask as every device and every thread order makes it: the same.
template <class Mask>
sparse::Csr mask_everywhere(const Mask& mask) {
  sparse::Csr first;
  for (const test::StepDevice& on : test::step_devices()) {
    const Topology topology = plan::make_mask(on.session, mask, nullptr);
    CHECK(topology.statistics().sorted);
    CHECK_FALSE(topology.statistics().duplicates);
    CHECK(topology.rows() == mask.rows);
    CHECK(topology.cols() == mask.cols);
    sparse::Csr csr = topology.state()->host_copy();
    if (&on == &test::step_devices().front()) first = csr;
    CAPTURE(on.on.name);
    CHECK(csr.row_offsets == first.row_offsets);
    CHECK(csr.column_indices == first.column_indices);
  }
  return first;
}

template <class Visit>
void for_each_nonzero(const sparse::Csr& csr, Visit&& visit) {
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (std::int64_t i = csr.row_offsets[row]; i < csr.row_offsets[row + 1]; ++i)
      visit(row, std::int64_t{csr.column_indices[i]});
}

bool in_band(std::int64_t row, std::int64_t column, std::int64_t width, bool causal) {
  const std::int64_t before = causal ? width - 1 : width / 2;
  return column >= row - before && column <= row + (width - 1 - before);
}

}  // namespace

TEST_CASE(
    "a uniform mask has exactly the nonzeros asked for, equally many in each row, and the columns of the largest "
    "keys") {
  const std::vector<std::tuple<int, int, double>> cases = {{1, 1, 0.0},    {0, 4, 0.5},     {4, 0, 0.5},
                                                           {33, 130, 0.9}, {20, 300, 0.35}, {7, 5, 1.0}};
  for (const auto& [rows, cols, sparsity] : test::affordable(cases, 1)) {
    const UniformMask mask{.rows = rows, .cols = cols, .sparsity = sparsity, .seed = seed};
    const sparse::Csr csr = mask_everywhere(mask);
    CHECK(csr.nonzeros() == std::llround(rows * cols * (1 - sparsity)));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto begin = csr.column_indices.begin() + csr.row_offsets[row];
      const auto end = csr.column_indices.begin() + csr.row_offsets[row + 1];
      CHECK(std::abs((end - begin) - csr.nonzeros() / rows) <= 1);
      std::uint32_t smallest_kept = 0xffffffffU, largest_dropped = 0;
      for (int column = 0; column < cols; ++column) {
        const std::uint32_t key = distinct_key(row_seed(seed, row), column);
        if (std::find(begin, end, column) != end) smallest_kept = std::min(smallest_kept, key);
        else largest_dropped = std::max(largest_dropped, key);
      }
      CHECK(smallest_kept >= largest_dropped);
    }
  }
}

TEST_CASE("columns of a uniform mask are spread evenly, and another seed gives another mask") {
  if (test::thread_sanitized)
    return std::puts("spread of columns skipped: ThreadSanitizer, and nothing here that other cases do not run"),
           void();
  const test::StepDevice& on = test::step_devices().front();
  const Topology topology =
      plan::make_mask(on.session, UniformMask{.rows = 200, .cols = 64, .sparsity = 0.75, .seed = seed}, nullptr);
  const sparse::Csr csr = topology.state()->host_copy();
  // 200 rows keep 16 of 64 columns: 50 in each, deviation 6.1.
  std::vector<int> of_column(64, 0);
  for (const std::int32_t column : csr.column_indices) ++of_column[static_cast<std::size_t>(column)];
  CHECK(*std::min_element(of_column.begin(), of_column.end()) > 50 - 30);
  CHECK(*std::max_element(of_column.begin(), of_column.end()) < 50 + 30);
  const Topology other =
      plan::make_mask(on.session, UniformMask{.rows = 200, .cols = 64, .sparsity = 0.75, .seed = seed + 1}, nullptr);
  CHECK(other.state()->host_copy().column_indices != csr.column_indices);
}

TEST_CASE("a block mask keeps whole blocks, equally many in each row of blocks, cut by the edges") {
  const BlockMask mask{.rows = 37, .cols = 50, .block_size = 8, .sparsity = 0.6, .seed = seed};
  const sparse::Csr csr = mask_everywhere(mask);
  std::vector<std::int64_t> elements(std::size_t{5} * 7, 0);
  for_each_nonzero(csr, [&](std::int64_t row, std::int64_t column) {
    ++elements[static_cast<std::size_t>(row / 8 * 7 + column / 8)];
  });
  std::int64_t blocks = 0;
  for (std::int64_t block = 0; block < 35; ++block) {
    if (elements[static_cast<std::size_t>(block)] == 0) continue;
    ++blocks;
    const std::int64_t height = std::min<std::int64_t>(8, 37 - block / 7 * 8);
    const std::int64_t width = std::min<std::int64_t>(8, 50 - block % 7 * 8);
    CHECK(elements[static_cast<std::size_t>(block)] == height * width);
  }
  CHECK(blocks == std::llround(35 * 0.4));
}

TEST_CASE("a banded mask keeps its band and nothing else") {
  for (const bool causal : {false, true}) {
    for (const std::int64_t width : {0, 1, 2, 5}) {
      CAPTURE(causal);
      CAPTURE(width);
      const sparse::Csr csr = mask_everywhere(BandedMask{.rows = 13, .cols = 11, .width = width, .causal = causal});
      std::int64_t expected = 0;
      for (std::int64_t row = 0; row < 13; ++row)
        for (std::int64_t column = 0; column < 11; ++column) expected += in_band(row, column, width, causal) ? 1 : 0;
      CHECK(csr.nonzeros() == expected);
      for_each_nonzero(csr, [&](std::int64_t row, std::int64_t column) { CHECK(in_band(row, column, width, causal)); });
    }
  }
}

TEST_CASE(
    "an attention mask has its band, the density asked for beyond it, falling with the distance, and nothing from the "
    "future where causal") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const AttentionMask mask{.rows = 160, .cols = 160, .width = 8, .sparsity = 0.9, .causal = causal, .seed = seed};
    const sparse::Csr csr = mask_everywhere(mask);
    const sparse::Csr on_host = plan::host_mask(mask);
    CHECK(on_host.row_offsets == csr.row_offsets);
    CHECK(on_host.column_indices == csr.column_indices);
    std::int64_t band = 0, beyond = 0, near = 0, near_places = 0, places = 0;
    for (std::int64_t row = 0; row < 160; ++row)
      for (std::int64_t column = 0; column < (causal ? row + 1 : 160); ++column) {
        if (in_band(row, column, 8, causal)) continue;
        ++places;
        near_places += std::abs(row - column) < 40 ? 1 : 0;
      }
    for_each_nonzero(csr, [&](std::int64_t row, std::int64_t column) {
      if (causal) CHECK(column <= row);
      if (in_band(row, column, 8, causal)) {
        ++band;
      } else {
        ++beyond;
        near += std::abs(row - column) < 40 ? 1 : 0;
      }
    });
    CHECK(band == mask_everywhere(BandedMask{.rows = 160, .cols = 160, .width = 8, .causal = causal}).nonzeros());
    // About 2,400 or 1,150 draws of probability 0.1 on average: four deviations are under 15 %.
    CHECK(std::abs(static_cast<double>(beyond) / static_cast<double>(places) - 0.1) < 0.015);
    const double near_density = static_cast<double>(near) / static_cast<double>(near_places);
    const double far_density = static_cast<double>(beyond - near) / static_cast<double>(places - near_places);
    CHECK(near_density > 2 * far_density);
  }
}

TEST_CASE("sparsities of 0 and 1 beyond the band give everything and the band alone") {
  const auto nonzeros_of = [](double sparsity) {
    return mask_everywhere(AttentionMask{.rows = 40, .cols = 56, .width = 3, .sparsity = sparsity}).nonzeros();
  };
  CHECK(nonzeros_of(0) == 40 * 56);
  CHECK(nonzeros_of(1) == mask_everywhere(BandedMask{.rows = 40, .cols = 56, .width = 3}).nonzeros());
}

TEST_CASE("masks refuse what makes no sense, by name") {
  const test::StepDevice& on = test::step_devices().front();
  const auto refused = [&](const std::string& words, const auto& mask) {
    std::string message;
    CHECK(test::code_of([&] { plan::make_mask(on.session, mask, nullptr); }, &message) == ErrorCode::invalid_argument);
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused("sparsity = 1.5", UniformMask{.rows = 2, .cols = 2, .sparsity = 1.5});
  refused("sparsity = nan", UniformMask{.rows = 2, .cols = 2, .sparsity = NAN});
  refused("rows = -2", UniformMask{.rows = -2, .cols = 2});
  refused("block_size = 0", BlockMask{.rows = 2, .cols = 2, .block_size = 0});
  refused("width = -1", BandedMask{.rows = 2, .cols = 2, .width = -1});
  refused("width = 0", AttentionMask{.rows = 2, .cols = 2, .width = 0});
}
