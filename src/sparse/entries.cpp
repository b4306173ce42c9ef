#include "sparse/entries.hpp"

#include <algorithm>
#include <numeric>

#include "base/checked.hpp"

namespace vostok::sparse {
namespace {

/// The entries by row, in their order. Afterwards `offsets` holds where each row begins, and the end.
std::vector<std::int64_t> order_by_row(const Entries& entries, std::vector<std::int64_t>& offsets) {
  // One place further than a row's end, so that placing an entry moves its row's begin on to its end: one array does,
  // and rows may be many.
  offsets.assign(static_cast<std::size_t>(entries.rows) + 2, 0);
  for (const std::int32_t row : entries.row) ++offsets[row + 2L];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<std::int64_t> order(entries.row.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[offsets[entries.row[i] + 1L]++] = static_cast<std::int64_t>(i);
  offsets.pop_back();
  return order;
}

}  // namespace

void reserve(Entries& entries, std::int64_t count, const Source& source) {
  // An entry, its place in the order and what the CSR holds of it; a row's begin.
  const std::int64_t bytes_each = entries.valued ? 16 + 8 + 12 : 8 + 8 + 4;
  constexpr std::int64_t row_bytes = 8;
  require_rows(source, entries.rows);
  require_memory(source,
                 checked_multiply(count, bytes_each, "the bytes of a file's entries") + (entries.rows + 2) * row_bytes,
                 fmt::format("{} rows and {} entries", entries.rows, count));
  entries.row.reserve(static_cast<std::size_t>(count));
  entries.col.reserve(static_cast<std::size_t>(count));
  if (entries.valued) entries.value.reserve(static_cast<std::size_t>(count));
}

Csr compress(const Entries& entries) {
  Csr csr{.rows = entries.rows, .cols = entries.cols};
  std::vector<std::int64_t> order = order_by_row(entries, csr.row_offsets);
  const auto before = [&](std::int64_t a, std::int64_t b) { return entries.col[a] < entries.col[b]; };
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    const auto begin = order.begin() + csr.row_offsets[row], end = order.begin() + csr.row_offsets[row + 1];
    if (!std::is_sorted(begin, end, before)) std::stable_sort(begin, end, before);
  }
  csr.column_indices.reserve(order.size());
  csr.values.reserve(entries.value.size());
  for (const std::int64_t i : order) {
    csr.column_indices.push_back(entries.col[i]);
    if (entries.valued) csr.values.push_back(entries.value[i]);
  }
  return csr;
}

}  // namespace vostok::sparse
