#include "sparse/sddmm_reference.hpp"

#include <algorithm>

#include "base/in_parts.hpp"

namespace vostok::sparse {

namespace {

double dot(const DenseView& lhs, std::int64_t row, const DenseView& rhs, std::int64_t column, std::int64_t n) {
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += lhs.at(row, j) * rhs.at(column, j);
  return sum;
}

}  // namespace

std::vector<double> sddmm(const Csr& mask, std::span<const std::int64_t> entries, const DenseView& lhs,
                          const DenseView& rhs, std::int64_t n) {
  std::vector<double> products(entries.size());
  in_parts(static_cast<std::int64_t>(entries.size()), 1000, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t row = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t entry = entries[static_cast<std::size_t>(i)];
      if (i == begin)
        row = std::upper_bound(mask.row_offsets.begin(), mask.row_offsets.end(), entry) - mask.row_offsets.begin() - 1;
      while (mask.row_offsets[static_cast<std::size_t>(row) + 1] <= entry) ++row;
      products[static_cast<std::size_t>(i)] =
          dot(lhs, row, rhs, mask.column_indices[static_cast<std::size_t>(entry)], n);
    }
  });
  return products;
}

}  // namespace vostok::sparse
