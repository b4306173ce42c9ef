#include "sparse/generate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "sparse/row_lengths.hpp"

namespace vostok::sparse {
namespace {

void check_sizes(std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (rows < 0 || rows > most)
    fail(ErrorCode::invalid_argument, "cannot generate a matrix: rows = {} is outside [0, {}]", rows, most);
  if (cols < 0 || cols > most)
    fail(ErrorCode::invalid_argument, "cannot generate a matrix: cols = {} is outside [0, {}]", cols, most);
}

/// Selection sampling (Knuth, TAOCP 2, 3.4.2, S): looks at every column; right for rows that are not very sparse.
void select_columns(std::int64_t cols, std::span<std::int32_t> columns, Random& random) {
  auto needed = static_cast<std::uint64_t>(columns.size());
  std::size_t count = 0;
  for (std::int64_t col = 0; needed > 0; ++col) {
    columns[count] = static_cast<std::int32_t>(col);
    const std::uint64_t draw =
        (random.bits() >> 32) * static_cast<std::uint64_t>(cols - col) >> 32;  // uniform below the columns left
    const bool take = draw < needed;
    count += static_cast<std::size_t>(take);
    needed -= static_cast<std::uint64_t>(take);
  }
}

/// Draws until enough are distinct: right for rows with few nonzeros of many columns. `taken` is all false before and
/// after.
void draw_columns(std::int64_t cols, std::span<std::int32_t> columns, std::vector<bool>& taken, Random& random) {
  for (std::int32_t& column : columns) {
    do {
      column = static_cast<std::int32_t>(random.below(cols));
    } while (taken[column]);
    taken[column] = true;
  }
  for (const std::int32_t column : columns) taken[column] = false;
  std::sort(columns.begin(), columns.end());
}

Csr with_lengths(std::int64_t cols, const std::vector<std::int64_t>& lengths, Random& random) {
  Csr csr{.rows = static_cast<std::int64_t>(lengths.size()), .cols = cols, .note = "generated pattern"};
  csr.row_offsets.reserve(lengths.size() + 1);
  for (const std::int64_t length : lengths) csr.row_offsets.push_back(csr.row_offsets.back() + length);
  csr.column_indices.resize(static_cast<std::size_t>(csr.row_offsets.back()));

  std::vector<bool> taken(static_cast<std::size_t>(cols));
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const std::span<std::int32_t> columns(csr.column_indices.data() + csr.row_offsets[row],
                                          static_cast<std::size_t>(lengths[row]));
    if (lengths[row] > cols / 16) {
      select_columns(cols, columns, random);
    } else {
      draw_columns(cols, columns, taken, random);
    }
  }
  return csr;
}

}  // namespace

Csr uniform(std::int64_t rows, std::int64_t cols, double sparsity, std::uint64_t seed, double row_variation) {
  check_sizes(rows, cols);
  if (!(sparsity >= 0 && sparsity <= 1))
    fail(ErrorCode::invalid_argument, "cannot generate a matrix: sparsity = {} is outside [0, 1]", sparsity);
  if (!(row_variation >= 0))
    fail(ErrorCode::invalid_argument, "cannot generate a matrix: row_variation = {} is negative", row_variation);
  Random random(seed);
  const auto total =
      static_cast<std::int64_t>(static_cast<double>(rows) * static_cast<double>(cols) * (1 - sparsity) + 0.5);
  const bool varied = row_variation > 0 && total > 0;
  return with_lengths(
      cols, varied ? varied_lengths(rows, cols, total, row_variation, random) : equal_lengths(rows, total), random);
}

Csr power_law(std::int64_t rows, std::int64_t cols, std::int64_t nonzeros, double exponent, std::uint64_t seed) {
  check_sizes(rows, cols);
  const std::int64_t places = checked_multiply(rows, cols, "a matrix's places");
  if (nonzeros < 0 || nonzeros > places)
    fail(ErrorCode::invalid_argument, "cannot generate a matrix: nonzeros = {} is outside [0, {}]", nonzeros, places);
  if (!(exponent >= 0))
    fail(ErrorCode::invalid_argument, "cannot generate a matrix: exponent = {} is negative", exponent);
  Random random(seed);
  return with_lengths(
      cols, nonzeros > 0 ? power_law_lengths(rows, cols, nonzeros, exponent, random) : equal_lengths(rows, 0), random);
}

}  // namespace vostok::sparse
