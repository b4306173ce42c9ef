#include "bench/peers/cublas_weights.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/text.hpp"
#include "bench/peers/rotation.hpp"
#include "sparse/elements.hpp"

namespace vostok::bench {

namespace cublas {

std::vector<Weights::Nonzero> Weights::added_up(const sparse::Csr& matrix, const std::vector<float>& values) {
  std::vector<Nonzero> all;
  all.reserve(values.size());
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const auto first = static_cast<std::ptrdiff_t>(all.size());
    for (std::int64_t i = matrix.row_offsets[static_cast<std::size_t>(row)];
         i < matrix.row_offsets[static_cast<std::size_t>(row) + 1]; ++i)
      all.push_back({row, matrix.column_indices[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(i)]});
    const auto by_column = [](const Nonzero& a, const Nonzero& b) { return a.column < b.column; };
    if (!std::is_sorted(all.begin() + first, all.end(), by_column))
      std::stable_sort(all.begin() + first, all.end(), by_column);
    auto last = all.begin() + first;
    for (auto next = last; next != all.end(); ++next) {
      if (next == last) continue;
      if (next->column == last->column) last->value += next->value;
      else *++last = *next;
    }
    if (last != all.end()) all.erase(last + 1, all.end());
  }
  return all;
}

const Weights::Copies& Weights::dense() {
  if (dense_.empty()) dense_ = upload(scatter(operands_.element, nonzeros(), 1, {0}));
  return dense_;
}

const Weights::Copies& Weights::three_terms() {
  if (!three_terms_.empty()) return three_terms_;
  std::vector<Nonzero> hi = nonzeros(), lo = hi;
  for (std::size_t i = 0; i < hi.size(); ++i) {
    hi[i].value = sparse::round_to(Dtype::f16, hi[i].value);
    lo[i].value -= hi[i].value;
  }
  std::vector<std::byte> terms = scatter(Dtype::f16, hi, 3, {0, 1});
  const std::vector<std::byte> rest = scatter(Dtype::f16, lo, 3, {2});
  std::transform(terms.begin(), terms.end(), rest.begin(), terms.begin(), std::bit_or());
  three_terms_ = upload(terms);
  return three_terms_;
}

std::vector<std::byte> Weights::scatter(Dtype type, const std::vector<Nonzero>& nonzeros, std::int64_t width,
                                        const std::vector<std::int64_t>& places) const {
  const sparse::Csr& matrix = *operands_.matrix.host;
  const std::int64_t element_bytes = size_of(type);
  std::vector<float> values(nonzeros.size());
  std::transform(nonzeros.begin(), nonzeros.end(), values.begin(),
                 [](const Nonzero& nonzero) { return nonzero.value; });
  const std::vector<std::byte> stored = sparse::to_storage(type, values);
  std::vector<std::byte> bytes(static_cast<std::size_t>(matrix.rows * width * matrix.cols * element_bytes));
  for (std::size_t i = 0; i < nonzeros.size(); ++i) {
    for (const std::int64_t place : places) {
      const std::int64_t target = (nonzeros[i].row * width + place) * matrix.cols + nonzeros[i].column;
      std::memcpy(bytes.data() + target * element_bytes, stored.data() + static_cast<std::int64_t>(i) * element_bytes,
                  static_cast<std::size_t>(element_bytes));
    }
  }
  return bytes;
}

const std::vector<Weights::Nonzero>& Weights::nonzeros() {
  const sparse::Csr& matrix = *operands_.matrix.host;
  constexpr std::int64_t most_elements = std::int64_t{1} << 27;
  if (matrix.rows > most_elements / std::max<std::int64_t>(matrix.cols, 1))
    fail(ErrorCode::unsupported, "cannot run cuBLAS: a dense matrix of {} x {} is not made", matrix.rows, matrix.cols);
  if (!nonzeros_.empty()) return nonzeros_;
  std::vector<std::byte> stored(static_cast<std::size_t>(matrix.nonzeros() * size_of(operands_.element)));
  if (!stored.empty()) device_.copy_to_host(stored.data(), operands_.values, static_cast<std::int64_t>(stored.size()));
  nonzeros_ = added_up(matrix, sparse::from_storage(operands_.element, stored));
  return nonzeros_;
}

Weights::Copies Weights::upload(const std::vector<std::byte>& bytes) const {
  Copies copies;
  for (int i = copies_of(operands_.rotated_bytes, std::ssize(bytes)); i > 0; --i) {
    device::Buffer buffer(device_, std::ssize(bytes));
    device_.copy_to_device(buffer.data(), bytes.data(), buffer.bytes());
    copies.push_back(std::make_shared<const device::Buffer>(std::move(buffer)));
  }
  return copies;
}

}  // namespace cublas

}  // namespace vostok::bench
