#include "sparse/sparse_strips.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "error_code.hpp"
#include "sparse/elements.hpp"
#include "sparse/generate.hpp"
#include "sparse/transpose.hpp"

using namespace vostok;

namespace {

constexpr std::uint64_t seed = 26;

/// Matrices of all kinds of edges: empty, one element, past the edge of a strip, of a group of row strips, full,
/// unsorted rows.
std::vector<sparse::Csr> matrices() {
  std::vector<sparse::Csr> list;
  list.push_back({.rows = 0, .cols = 0});
  list.push_back({.rows = 0, .cols = 70});
  list.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 3, .cols = 5, .row_offsets = {0, 0, 0, 0}});
  list.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  list.push_back({.rows = 2, .cols = 70, .row_offsets = {0, 3, 5}, .column_indices = {69, 0, 1, 64, 63}});
  list.push_back(sparse::uniform(17, 129, 0.0, seed));
  list.push_back(sparse::uniform(257, 65, 0.5, seed + 1));
  list.push_back(sparse::uniform(100, 300, 0.9, seed + 2));
  list.push_back(sparse::uniform(100, 300, 0.98, seed + 2));
  list.push_back(sparse::power_law(64, 200, 900, 1.2, seed + 3));
  return list;
}

/// Different bits for every value, none zero.
std::vector<std::byte> numbers(std::int64_t count) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint16_t>(i % 65'535 + 1);
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::uint16_t number(std::span<const std::byte> values, std::int64_t index) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(values[static_cast<std::size_t>(2 * index)]) |
                                    std::to_integer<unsigned>(values[static_cast<std::size_t>(2 * index + 1)]) << 8);
}

std::vector<std::uint16_t> dense_of(const sparse::Csr& csr, std::span<const std::byte> values,
                                    std::span<const std::int32_t> positions = {}) {
  std::vector<std::uint16_t> dense(static_cast<std::size_t>(csr.rows * csr.cols), 0);
  for (std::int64_t row = 0; row < csr.rows; ++row)
    for (auto i = static_cast<std::size_t>(csr.row_offsets[static_cast<std::size_t>(row)]);
         std::cmp_less(i, csr.row_offsets[static_cast<std::size_t>(row) + 1]); ++i)
      dense[static_cast<std::size_t>(row * csr.cols + csr.column_indices[i])] =
          number(values, positions.empty() ? static_cast<std::int64_t>(i) : positions[i]);
  return dense;
}

}  // namespace

TEST_CASE("every element of a sparse strip has a place of its own, four columns side by side") {
  std::vector<int> seen(std::size_t{packed_lanes()} * 32, 0);
  for (int row = 0; row < packed_strip_rows(); ++row)
    for (int column = 0; column < packed_strip_columns(); ++column) {
      const SparsePlace place = sparse_place(row, column);
      ++seen[static_cast<std::size_t>(place.lane * 32 + place.bit)];
      const int step = place.bit / 16;
      const int index = place.bit / 4 % 4;
      CHECK(sparse_row(place.lane, index) == row);
      CHECK(sparse_column(place.lane, step, index) + place.bit % 4 == column);
    }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

TEST_CASE("two passes take every nonzero of four columns once, in order, and name two places in order") {
  for (unsigned group = 0; group < 16; ++group) {
    CAPTURE(group);
    const unsigned first = sparse_taken(group, 0);
    const unsigned second = sparse_taken(group, 1);
    CHECK((first | second) == group);
    CHECK((first & second) == 0U);
    CHECK(std::popcount(first) == std::min(std::popcount(group), 2));
    CHECK((second == 0 || std::cmp_less_equal(std::bit_width(first), std::countr_zero(second))));
    CHECK(sparse_passes(group) == static_cast<unsigned>((std::popcount(group) + 1) / 2));
    for (const unsigned taken : {first, second}) {
      const SparsePlaces places = sparse_places(taken);
      CHECK(places.lower < places.higher);
      CHECK(places.higher <= 3U);
      CHECK((taken & ~(1U << places.lower | 1U << places.higher)) == 0U);
      CHECK(places.metadata() == (places.lower | places.higher * 4));
    }
  }
}

TEST_CASE("a strip's size counts its header and its passes, and every pass starts at 16 bytes") {
  static_assert(sparse_header_bytes() % packed_unit_bytes() == 0 && sparse_pass_bytes() % packed_unit_bytes() == 0);
  CHECK(sparse_strip_units(0) == 1U);
  CHECK(sparse_strip_units(4) * packed_unit_bytes() == 16 + 4 * (512 + 64));
}

TEST_CASE("sparse strips hold every value in its place, and nothing else") {
  CAPTURE(seed);
  for (const sparse::Csr& csr : matrices()) {
    CAPTURE(csr.rows);
    CAPTURE(csr.cols);
    const sparse::SparseForm form = sparse::sparse_form(csr);
    const std::vector<std::byte> values = numbers(csr.nonzeros());
    const std::vector<std::uint32_t> packed = sparse::pack(form, values);
    REQUIRE(form.unit_offsets.size() == static_cast<std::size_t>(form.strips()) + 1);
    CHECK(packed.size() * 4 == std::size_t{form.unit_offsets.back()} * packed_unit_bytes());
    CHECK(form.nonzero_offsets.back() == csr.nonzeros());
    CHECK(sparse::unpack(form, packed) == dense_of(csr, values));
  }
}

TEST_CASE("sparse strips of a transpose take their values where A has them") {
  const sparse::Csr csr = sparse::uniform(90, 150, 0.7, seed);
  const sparse::Transposed walked = sparse::transpose(csr);
  const sparse::SparseForm form = sparse::sparse_form(walked.csr, walked.value_positions);
  const std::vector<std::byte> values = numbers(csr.nonzeros());
  CHECK(sparse::unpack(form, sparse::pack(form, values)) == dense_of(walked.csr, values, walked.value_positions));
}

TEST_CASE("a strip's header counts its passes, and the most that its 64 rows need") {
  // Row 0: three of four columns in step 0. Row 20: one nonzero in step 1. Row 70: nothing in step 0, four in step 1.
  const sparse::Csr csr{.rows = 71,
                        .cols = 64,
                        .row_offsets =
                            [] {
                              std::vector<std::int64_t> offsets(72, 0);
                              std::fill(offsets.begin() + 1, offsets.end(), 3);
                              std::fill(offsets.begin() + 21, offsets.end(), 4);
                              offsets.back() = 8;
                              return offsets;
                            }(),
                        .column_indices = {4, 7, 5, 40, 60, 61, 62, 63}};
  const sparse::SparseForm form = sparse::sparse_form(csr);
  const auto header = [&](std::size_t strip) { return SparseHeader{form.headers[strip]}; };
  CHECK(header(0).passes(0) == 2U);
  CHECK(header(0).passes(1) == 0U);
  CHECK(header(1).passes(0) == 0U);
  CHECK(header(1).passes(1) == 1U);
  for (const std::size_t strip : {0, 1, 2, 3}) {
    CHECK(header(strip).tile_passes(0) == 2U);
    CHECK(header(strip).tile_passes(1) == 1U);
  }
  CHECK(header(4).passes(1) == 2U);
  CHECK(header(5).all_passes() == 0U);
  CHECK(header(5).tile_passes(1) == 2U);
  CHECK(header(8).word == 0U);
}

TEST_CASE("a matrix that names a column twice has no sparse strips") {
  const sparse::Csr repeats{.rows = 1, .cols = 4, .row_offsets = {0, 2}, .column_indices = {3, 3}};
  CHECK(test::code_of([&] { sparse::sparse_form(repeats); }) == ErrorCode::unsupported);
}
