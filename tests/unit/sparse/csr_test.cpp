#include "sparse/csr.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "sparse/attention_reference.hpp"
#include "sparse/generate.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

TopologyStatistics statistics_of(const Csr& csr) {
  return statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices);
}

void check_invalid(const Csr& csr, const std::vector<std::string>& parts) {
  testing::check_refused(ErrorCode::invalid_topology, parts,
                         [&] { validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "the mask"); });
}

}  // namespace

TEST_CASE("a valid structure passes, unsorted and repeated columns included") {
  const Csr csr{.rows = 3, .cols = 4, .row_offsets = {0, 3, 3, 5}, .column_indices = {3, 0, 3, 1, 2}};
  CHECK_NOTHROW(validate(csr.rows, csr.cols, csr.row_offsets, csr.column_indices, "the mask"));
  CHECK_NOTHROW(validate(0, 0, std::vector<std::int64_t>{0}, {}, "nothing"));
}

TEST_CASE("a broken structure is refused with its row and value") {
  check_invalid({.rows = 2, .cols = 4, .row_offsets = {0, 1}, .column_indices = {0}},
                {"the mask", "2 rows need 3 row offsets, there are 2"});
  check_invalid({.rows = 1, .cols = 4, .row_offsets = {1, 1}, .column_indices = {0}}, {"row 0 starts at 1"});
  check_invalid({.rows = 3, .cols = 4, .row_offsets = {0, 2, 1, 3}, .column_indices = {0, 1, 2}},
                {"decrease at row 1", "starts at 2", "ends at 1"});
  check_invalid({.rows = 2, .cols = 4, .row_offsets = {0, 9, 3}, .column_indices = {0, 1, 2}},
                {"row 0 ends at 9", "3 column indices"});
  check_invalid({.rows = 2, .cols = 4, .row_offsets = {0, 1, 2}, .column_indices = {0, 1, 2}},
                {"of row 2, is 2", "3 column indices"});
  check_invalid({.rows = 2, .cols = 4, .row_offsets = {0, 1, 2}, .column_indices = {0, 4}},
                {"row 1 has column 4", "[0, 4)"});
  check_invalid({.rows = 1, .cols = 4, .row_offsets = {0, 1}, .column_indices = {-1}}, {"row 0 has column -1"});
  check_invalid({.rows = -1, .cols = 4}, {"rows = -1"});
  check_invalid({.rows = 0, .cols = -4}, {"cols = -4"});
}

TEST_CASE("the statistics of a matrix counted by hand") {
  // Row lengths 4, 0, 2, 2: mean 2, deviations 2, -2, 0, 0, so a population deviation of sqrt(2).
  const TopologyStatistics of =
      statistics_of({.rows = 4, .cols = 5, .row_offsets = {0, 4, 4, 6, 8}, .column_indices = {0, 1, 2, 4, 1, 3, 0, 4}});
  CHECK(of.rows == 4);
  CHECK(of.cols == 5);
  CHECK(of.nonzeros == 8);
  CHECK(of.longest_row == 4);
  CHECK(of.empty_rows == 1);
  CHECK(of.mean_row == 2);
  CHECK(of.row_variation == doctest::Approx(std::sqrt(2.0) / 2).epsilon(1e-15));
  CHECK(of.sorted);
  CHECK_FALSE(of.duplicates);
  CHECK(of.sparsity() == doctest::Approx(0.6).epsilon(1e-15));
}

TEST_CASE("nonzeros that end a run are counted within their rows") {
  const auto share = [](std::int64_t first_row, std::int64_t second_row) {
    Csr csr{.rows = 2, .cols = 200, .row_offsets = {0, first_row, first_row + second_row}};
    for (std::int32_t column = 0; column < first_row + second_row; ++column)
      csr.column_indices.push_back(column);  // on where the first ends
    return statistics_of(csr).run_share;
  };
  CHECK(share(31, 31) == 0);
  CHECK(share(32, 31) == 1.0 / 63);
  CHECK(share(40, 60) == (9.0 + 29.0) / 100);
  CHECK(statistics_of(sparse::uniform(64, 512, 0.5, 1)).run_share == 0);
}

TEST_CASE("rows span the columns from their first entry to their last") {
  const auto share = [](std::vector<std::int64_t> offsets, std::vector<std::int32_t> columns) {
    const auto rows = static_cast<std::int64_t>(offsets.size()) - 1;
    return statistics_of(
               {.rows = rows, .cols = 10, .row_offsets = std::move(offsets), .column_indices = std::move(columns)})
        .span_share;
  };
  CHECK(share({0, 2}, {0, 9}) == 1);
  CHECK(share({0, 2}, {9, 0}) == 1);
  CHECK(share({0, 1, 1, 3}, {4, 2, 5}) == 0.25);  // of rows that have any
  CHECK(share({0, 0}, {}) == 0);
  CHECK(statistics_of(sparse::causal_mask(sparse::uniform(400, 400, 0.5, 1))).span_share ==
        doctest::Approx(0.5).epsilon(0.02));
}

TEST_CASE("statistics tell unsorted rows from repeated columns") {
  const auto of_columns = [](std::vector<std::int32_t> columns) {
    return statistics_of({.rows = 1, .cols = 9, .row_offsets = {0, 3}, .column_indices = std::move(columns)});
  };
  CHECK_FALSE(of_columns({0, 5, 3}).sorted);
  CHECK_FALSE(of_columns({0, 5, 3}).duplicates);
  CHECK(of_columns({0, 5, 5}).sorted);
  CHECK(of_columns({0, 5, 5}).duplicates);
  CHECK_FALSE(of_columns({5, 0, 5}).sorted);
  CHECK(of_columns({5, 0, 5}).duplicates);
  // The same column in neighbouring rows is no repetition, nor is a smaller first column of the next row disorder.
  const TopologyStatistics rows =
      statistics_of({.rows = 2, .cols = 9, .row_offsets = {0, 2, 4}, .column_indices = {3, 7, 0, 7}});
  CHECK(rows.sorted);
  CHECK_FALSE(rows.duplicates);
}

TEST_CASE("statistics of matrices without rows, columns or nonzeros are finite") {
  for (const Csr& csr : {Csr{}, Csr{.rows = 2, .cols = 0, .row_offsets = {0, 0, 0}},
                         Csr{.rows = 2, .cols = 7, .row_offsets = {0, 0, 0}}}) {
    const TopologyStatistics of = statistics_of(csr);
    CHECK(of.sparsity() == 1);
    CHECK(of.mean_row == 0);
    CHECK(of.row_variation == 0);
    CHECK(of.empty_rows == csr.rows);
  }
}

TEST_CASE("sparsity stays between 0 and 1 when columns repeat") {
  CHECK(statistics_of({.rows = 1, .cols = 1, .row_offsets = {0, 3}, .column_indices = {0, 0, 0}}).sparsity() == 0);
}
