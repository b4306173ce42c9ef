// The CSR tools on every device, against the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "device/topology_harness.hpp"
#include "error_code.hpp"
#include "plan/tools.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;
using test::DeviceVector;

namespace {

constexpr std::uint64_t seed = 91;

template <class T>
std::vector<T> read(const test::StepDevice& on, const DeviceArray& array) {
  std::vector<T> values(static_cast<std::size_t>(array.bytes()) / sizeof(T));
  if (!values.empty()) on.device().copy_to_host(values.data(), array.data(), array.bytes());
  return values;
}

/// A dense matrix with few distinct magnitudes, so that there are many ties, and NaN between the rows.
struct Dense {
  Dense(std::int64_t of_rows, std::int64_t of_cols, std::int64_t padding, std::uint64_t of_seed)
      : rows(of_rows),
        cols(of_cols),
        leading(of_cols + padding),
        values(static_cast<std::size_t>(rows * leading), NAN) {
    sparse::Random random(of_seed);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < cols; ++column) at(row, column) = static_cast<float>(random.below(15) - 7);
    // Behind the last row there is no padding.
    if (rows > 0) values.resize(static_cast<std::size_t>((rows - 1) * leading + cols));
  }
  float& at(std::int64_t row, std::int64_t column) { return values[static_cast<std::size_t>(row * leading + column)]; }
  float at(std::int64_t row, std::int64_t column) const {
    return values[static_cast<std::size_t>(row * leading + column)];
  }

  std::int64_t rows, cols, leading;
  std::vector<float> values;
};

float magnitude(float value) { return std::isnan(value) ? std::numeric_limits<float>::infinity() : std::fabs(value); }

/// The `count` largest elements of these places, the earlier of equals; in the order of the places.
std::vector<std::pair<std::int64_t, std::int64_t>> largest(const Dense& dense,
                                                           std::vector<std::pair<std::int64_t, std::int64_t>> places,
                                                           std::int64_t count) {
  std::stable_sort(places.begin(), places.end(), [&](const auto& a, const auto& b) {
    return magnitude(dense.at(a.first, a.second)) > magnitude(dense.at(b.first, b.second));
  });
  places.resize(static_cast<std::size_t>(count));
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<std::pair<std::int64_t, std::int64_t>> places_of(std::int64_t first_row, std::int64_t last_row,
                                                             std::int64_t cols) {
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (std::int64_t row = first_row; row < last_row; ++row)
    for (std::int64_t column = 0; column < cols; ++column) places.emplace_back(row, column);
  return places;
}

void check_kept(const test::StepDevice& on, const Dense& dense, const SparseMatrix& found,
                const std::vector<std::pair<std::int64_t, std::int64_t>>& expected) {
  const sparse::Csr csr = found.topology.state()->host_copy();
  const std::vector<float> values = read<float>(on, found.values);
  REQUIRE(csr.nonzeros() == static_cast<std::int64_t>(expected.size()));
  REQUIRE(values.size() == expected.size());
  CHECK(found.topology.statistics().sorted);
  std::size_t i = 0;
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (std::int64_t at = csr.row_offsets[row]; at < csr.row_offsets[row + 1]; ++at, ++i) {
      CHECK(std::pair<std::int64_t, std::int64_t>(row, csr.column_indices[i]) == expected[i]);
      const float value = dense.at(row, csr.column_indices[i]);
      CHECK((values[i] == value || (std::isnan(values[i]) && std::isnan(value))));
    }
}

}  // namespace

TEST_CASE("a dense matrix keeps what is above a threshold, and every NaN") {
  for (const test::StepDevice& on : test::step_devices()) {
    for (const auto& [rows, cols] : {std::pair{0, 5}, {5, 0}, {1, 1}, {7, 33}, {40, 70}}) {
      Dense dense(rows, cols, 3, seed);
      if (rows == 7) dense.at(2, 4) = NAN;
      const DeviceVector<float> memory(on.device(), dense.values);
      const DenseView view{.data = memory.data(), .rows = rows, .cols = cols, .leading = dense.leading};
      for (const float threshold : {-1.0F, 0.0F, 2.5F, 3.0F, 100.0F}) {
        std::vector<std::pair<std::int64_t, std::int64_t>> expected = places_of(0, rows, cols);
        std::erase_if(expected, [&](const auto& place) {
          const float value = dense.at(place.first, place.second);
          return !std::isnan(value) && !(std::fabs(value) > threshold);
        });
        INFO(on.on.name, ": ", rows, " x ", cols, ", threshold ", threshold);
        check_kept(on, dense, plan::sparse_above(on.session, view, threshold, nullptr), expected);
      }
    }
  }
}

TEST_CASE("a dense matrix keeps exactly its largest elements, of the matrix and of each row, ties by position") {
  for (const test::StepDevice& on : test::step_devices()) {
    for (const auto& [rows, cols] : {std::pair{1, 1}, {3, 300}, {9, 33}}) {
      Dense dense(rows, cols, 2, seed + 1);
      if (rows == 9) dense.at(8, 32) = NAN;
      const DeviceVector<float> memory(on.device(), dense.values);
      const DenseView view{.data = memory.data(), .rows = rows, .cols = cols, .leading = dense.leading};
      for (const std::int64_t count :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{rows} * cols / 3, std::int64_t{rows} * cols}) {
        INFO(on.on.name, ": ", rows, " x ", cols, ", ", count, " of the matrix");
        check_kept(on, dense, plan::sparse_largest(on.session, view, count, Per::matrix, nullptr),
                   largest(dense, places_of(0, rows, cols), count));
      }
      for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{cols} / 2, std::int64_t{cols}}) {
        INFO(on.on.name, ": ", rows, " x ", cols, ", ", count, " of each row");
        std::vector<std::pair<std::int64_t, std::int64_t>> expected;
        for (std::int64_t row = 0; row < rows; ++row)
          for (const auto& place : largest(dense, places_of(row, row + 1, cols), count)) expected.push_back(place);
        check_kept(on, dense, plan::sparse_largest(on.session, view, count, Per::row, nullptr), expected);
      }
    }
  }
}

TEST_CASE("16-bit matrices go to sparse and back bit for bit, and nothing between rows is written") {
  for (const test::StepDevice& on : test::step_devices()) {
    for (const Dtype element : {Dtype::f16, Dtype::bf16}) {
      constexpr std::int64_t rows = 6, cols = 37, leading = 40;
      std::vector<std::uint16_t> dense(rows * leading, 0x7fff);
      sparse::Random random(seed);
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < cols; ++column)
          dense[static_cast<std::size_t>(row * leading + column)] =
              random.below(3) == 0 ? static_cast<std::uint16_t>(0x3c00 + random.below(900)) : 0;
      const DeviceVector<std::uint16_t> memory(on.device(), dense);
      const SparseMatrix matrix = plan::sparse_above(
          on.session, {.data = memory.data(), .rows = rows, .cols = cols, .leading = leading, .element = element}, 0,
          nullptr);
      const DeviceVector<std::uint16_t> output(on.device(), std::vector<std::uint16_t>(dense.size(), 0x7fff));
      to_dense(matrix.topology, matrix.values.data(), {.data = output.data(), .leading = leading, .element = element});
      on.device().synchronize(nullptr);
      CHECK(output.read() == dense);
    }
  }
}

TEST_CASE("repeated columns add up in a dense matrix") {
  for (const test::StepDevice& on : test::step_devices()) {
    const sparse::Csr csr{.rows = 3, .cols = 3, .row_offsets = {0, 3, 3, 5}, .column_indices = {2, 0, 2, 1, 1}};
    const Topology topology(on.topology(csr.view()));
    const DeviceVector<float> values(on.device(), std::vector<float>{1, 2, 4, 8, 16});
    const DeviceVector<float> dense(on.device(), std::vector<float>(9, NAN));
    to_dense(topology, values.data(), {.data = dense.data()});
    on.device().synchronize(nullptr);
    CHECK(dense.read() == std::vector<float>{2, 0, 5, 0, 0, 0, 0, 24, 0});
  }
}

TEST_CASE("transposes, sorted columns and linear indices are those of the host") {
  for (const test::StepDevice& on : test::step_devices()) {
    for (sparse::Csr csr : test::sample_structures(seed + 2)) {
      INFO(on.on.name, ": ", csr.rows, " x ", csr.cols, ", ", csr.nonzeros(), " nonzeros");
      // Columns of every other row in descending order.
      for (std::int64_t row = 0; row < csr.rows; row += 2)
        std::reverse(csr.column_indices.begin() + csr.row_offsets[row],
                     csr.column_indices.begin() + csr.row_offsets[row + 1]);
      const Topology topology(on.topology(csr.view()));

      const PermutedTopology transposed = transpose(topology);
      const sparse::Transposed expected = sparse::transpose(csr);
      CHECK(transposed.topology.state()->host_copy().row_offsets == expected.csr.row_offsets);
      CHECK(transposed.topology.state()->host_copy().column_indices == expected.csr.column_indices);
      CHECK(read<std::int32_t>(on, transposed.positions) == expected.value_positions);

      const PermutedTopology sorted = sort_columns(topology);
      const sparse::Transposed back = sparse::transpose(expected.csr);
      CHECK(sorted.topology.state()->host_copy().row_offsets == csr.row_offsets);
      CHECK(sorted.topology.state()->host_copy().column_indices == back.csr.column_indices);
      CHECK(sorted.topology.statistics().sorted);
      CHECK(sorted.topology.statistics().duplicates == topology.statistics().duplicates);
      std::vector<std::int32_t> positions;
      for (const std::int32_t position : back.value_positions)
        positions.push_back(expected.value_positions[static_cast<std::size_t>(position)]);
      CHECK(read<std::int32_t>(on, sorted.positions) == positions);

      const DeviceVector<std::int32_t> linear(on.device(), static_cast<std::size_t>(csr.nonzeros()));
      linear_indices(topology, linear.data());
      on.device().synchronize(nullptr);
      std::vector<std::int32_t> expected_linear;
      for (std::int64_t row = 0; row < csr.rows; ++row)
        for (std::int64_t i = csr.row_offsets[row]; i < csr.row_offsets[row + 1]; ++i)
          expected_linear.push_back(static_cast<std::int32_t>(row * csr.cols + csr.column_indices[i]));
      CHECK(linear.read() == expected_linear);
    }
  }
}

TEST_CASE("tools refuse what makes no sense, by name") {
  const test::StepDevice& on = test::step_devices().front();
  const DeviceVector<float> memory(on.device(), std::vector<float>(12));
  const auto refused = [&](const std::string& words, const std::function<void()>& call) {
    std::string message;
    CHECK(test::code_of(call, &message) == ErrorCode::invalid_argument);
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  const DenseView dense{.data = memory.data(), .rows = 3, .cols = 4};
  refused("threshold is NaN", [&] { plan::sparse_above(on.session, dense, NAN, nullptr); });
  refused("dense.data is null", [&] { plan::sparse_above(on.session, {.rows = 3, .cols = 4}, 0, nullptr); });
  refused("dense.leading = 3", [&] {
    plan::sparse_above(on.session, {.data = memory.data(), .rows = 3, .cols = 4, .leading = 3}, 0, nullptr);
  });
  refused("rows = -1",
          [&] { plan::sparse_above(on.session, {.data = memory.data(), .rows = -1, .cols = 4}, 0, nullptr); });
  refused("count = 5 is not in [0, 4]", [&] { plan::sparse_largest(on.session, dense, 5, Per::row, nullptr); });
  refused("count = 13 is not in [0, 12]", [&] { plan::sparse_largest(on.session, dense, 13, Per::matrix, nullptr); });
  refused("handle is empty", [&] { transpose(Topology()); });
  const Topology large(on.topology(
      sparse::Csr{.rows = 2, .cols = 2'000'000'000, .row_offsets = {0, 1, 1}, .column_indices = {7}}.view()));
  refused("give int64", [&] { linear_indices(large, static_cast<std::int32_t*>(static_cast<void*>(memory.data()))); });
  CHECK(test::code_of([&] {
          plan::sparse_above(on.session, {.data = reinterpret_cast<char*>(memory.data()) + 2, .rows = 1, .cols = 1}, 0,
                             nullptr);
        }) == ErrorCode::misaligned_pointer);
}
