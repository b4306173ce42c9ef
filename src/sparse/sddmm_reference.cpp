#include "sparse/sddmm_reference.hpp"

#include <algorithm>
#include <thread>

namespace vostok::sparse {

namespace {

double dot(const DenseView& lhs, std::int64_t row, const DenseView& rhs, std::int64_t column, std::int64_t n) {
  double sum = 0;
  for (std::int64_t j = 0; j < n; ++j) sum += lhs.at(row, j) * rhs.at(column, j);
  return sum;
}

}  // namespace

std::vector<double> sddmm(const Csr& mask, std::span<const std::int64_t> entries, const DenseView& lhs, const DenseView& rhs, std::int64_t n) {
  std::vector<double> products(entries.size());
  const auto work = [&](std::size_t begin, std::size_t end) {
    std::int64_t row = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t entry = entries[i];
      if (i == begin) row = std::upper_bound(mask.row_offsets.begin(), mask.row_offsets.end(), entry) - mask.row_offsets.begin() - 1;
      while (mask.row_offsets[static_cast<std::size_t>(row) + 1] <= entry) ++row;
      products[i] = dot(lhs, row, rhs, mask.column_indices[static_cast<std::size_t>(entry)], n);
    }
  };
  const std::size_t parts = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, entries.size() / 1000 + 1);
  std::vector<std::jthread> threads;
  for (std::size_t part = 1; part < parts; ++part) threads.emplace_back(work, entries.size() * part / parts, entries.size() * (part + 1) / parts);
  work(0, entries.size() / parts);
  threads.clear();  // joins
  return products;
}

}  // namespace vostok::sparse
