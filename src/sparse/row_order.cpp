#include "sparse/row_order.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/text.hpp"

namespace vostok::sparse {
namespace {

constexpr int digit_bits = 11;  // 2048 counters: in the first-level cache, and one pass for most matrices
constexpr std::size_t digit_values = std::size_t{1} << digit_bits;

/// Moves `order` into `sorted` by descending digit of the row length, stable.
void sort_by_digit(std::span<const std::int64_t> row_offsets, int shift, std::span<const std::int32_t> order,
                   std::span<std::int32_t> sorted) {
  const auto bucket = [&](std::int32_t row) {
    const auto length = static_cast<std::uint64_t>(row_offsets[row + 1L] - row_offsets[row]);
    return digit_values - 1 - ((length >> shift) & (digit_values - 1));
  };
  std::array<std::int64_t, digit_values> next{};
  for (const std::int32_t row : order) ++next[bucket(row)];
  std::exclusive_scan(next.begin(), next.end(), next.begin(), std::int64_t{0});
  for (const std::int32_t row : order) sorted[next[bucket(row)]++] = row;
}

}  // namespace

std::vector<std::int32_t> row_order(std::span<const std::int64_t> row_offsets) {
  const std::size_t rows = row_offsets.size() - 1;
  if (rows > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    fail(ErrorCode::unsupported, "cannot order rows: {} of them do not fit in 32 bits", rows);
  std::int64_t longest = 0;
  for (std::size_t row = 0; row < rows; ++row) longest = std::max(longest, row_offsets[row + 1] - row_offsets[row]);

  std::vector<std::int32_t> order(rows), sorted(rows);
  std::iota(order.begin(), order.end(), 0);
  for (int shift = 0; shift < 64 && (longest >> shift) > 0; shift += digit_bits) {
    sort_by_digit(row_offsets, shift, order, sorted);
    order.swap(sorted);
  }
  return order;
}

}  // namespace vostok::sparse
