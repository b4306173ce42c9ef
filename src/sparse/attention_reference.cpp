#include "sparse/attention_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <abi/dropout.h>

namespace vostok::sparse {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The products of rows of two matrices, for every entry of the mask.
std::vector<double> products(const Csr& mask, const DenseView& lhs, const DenseView& rhs, std::int64_t n) {
  std::vector<std::int64_t> entries(static_cast<std::size_t>(mask.nonzeros()));
  std::iota(entries.begin(), entries.end(), 0);
  return sddmm(mask, entries, lhs, rhs, n);
}

/// visit(row, column, entry) for every entry of the mask.
template <class Visit>
void each_entry(const Csr& mask, const Visit& visit) {
  for (std::int64_t row = 0; row < mask.rows; ++row)
    for (std::int64_t entry = mask.row_offsets[static_cast<std::size_t>(row)];
         entry < mask.row_offsets[static_cast<std::size_t>(row) + 1]; ++entry)
      visit(row, mask.column_indices[static_cast<std::size_t>(entry)], static_cast<std::size_t>(entry));
}

/// sums[to, .] += factor * from[., .] over one row of `width`.
void add_row(std::vector<double>& sums, std::int64_t to, double factor, const DenseView& from, std::int64_t row,
             std::int64_t width) {
  double* const line = sums.data() + to * width;
  for (std::int64_t j = 0; j < width; ++j) line[j] += factor * from.at(row, j);
}

std::vector<double> zeros(std::int64_t rows, std::int64_t width) {
  return std::vector<double>(static_cast<std::size_t>(rows * width));
}

/// Scores become probabilities, in place; returns the rows' logarithms. Those of -infinity are not there.
std::vector<double> normalise(const Csr& mask, std::vector<double>& scores) {
  std::vector<double> maxima(static_cast<std::size_t>(mask.rows), -infinity);
  std::vector<double> sums(static_cast<std::size_t>(mask.rows));
  each_entry(mask, [&](std::int64_t row, std::int64_t, std::size_t entry) {
    maxima[row] = std::max(maxima[row], scores[entry]);
  });
  each_entry(mask, [&](std::int64_t row, std::int64_t, std::size_t entry) {
    sums[row] += scores[entry] = scores[entry] == -infinity ? 0 : std::exp(scores[entry] - maxima[row]);
  });
  each_entry(mask, [&](std::int64_t row, std::int64_t, std::size_t entry) {
    if (sums[row] != 0) scores[entry] /= sums[row];
  });
  for (std::size_t row = 0; row < sums.size(); ++row) sums[row] = maxima[row] + std::log(sums[row]);
  return sums;
}

double capped(double score, double softcap) { return softcap == 0 ? score : softcap * std::tanh(score / softcap); }

/// The derivatives of capped scores by scaled ones.
std::vector<double> cap_slopes(const Csr& mask, const AttentionHead& head) {
  std::vector<double> slopes(static_cast<std::size_t>(mask.nonzeros()), 1);
  if (head.softcap == 0) return slopes;
  slopes = products(mask, head.query, head.key, head.n);
  for (double& slope : slopes) {
    const double tanh = std::tanh(slope * head.scale / head.softcap);
    slope = 1 - tanh * tanh;
  }
  return slopes;
}

}  // namespace

double AttentionDropout::factor(std::int64_t row, std::int64_t column) const {
  if (rate == 0) return 1;
  const DropoutKey key = dropout_key(seed, offset, static_cast<std::uint64_t>(head));
  const unsigned number = dropout_number(key, static_cast<unsigned>(row), static_cast<unsigned>(column));
  return number < dropped_below(rate) ? 0 : 1 / (1 - static_cast<double>(rate));
}

Csr causal_mask(const Csr& mask) {
  Csr causal{.rows = mask.rows, .cols = mask.cols};
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    for (std::int64_t entry = mask.row_offsets[row]; entry < mask.row_offsets[row + 1]; ++entry)
      if (mask.column_indices[entry] <= row + mask.cols - mask.rows)
        causal.column_indices.push_back(mask.column_indices[entry]);
    causal.row_offsets.push_back(causal.nonzeros());
  }
  return causal;
}

AttentionForward attention(const Csr& mask, const AttentionHead& head) {
  AttentionForward forward;
  forward.probabilities = products(mask, head.query, head.key, head.n);
  for (double& score : forward.probabilities) score = capped(score * head.scale, head.softcap);
  for (std::size_t entry = 0; entry < head.bias.size(); ++entry) forward.probabilities[entry] += head.bias[entry];
  forward.logarithms = normalise(mask, forward.probabilities);
  forward.output = zeros(mask.rows, head.value_size);
  each_entry(mask, [&](std::int64_t row, std::int64_t column, std::size_t entry) {
    const double factor = head.dropout.factor(row, column);
    if (factor == 0) return;
    add_row(forward.output, row, factor * forward.probabilities[entry], head.value, column, head.value_size);
  });
  return forward;
}

AttentionGradients attention_gradients(const Csr& mask, const AttentionHead& head, const DenseView& output_gradient) {
  const std::vector<double> probabilities = attention(mask, head).probabilities;
  const std::vector<double> score_slopes = cap_slopes(mask, head);
  std::vector<double> slopes = products(mask, output_gradient, head.value, head.value_size);  // by the probabilities
  std::vector<double> row_sums(static_cast<std::size_t>(mask.rows));
  each_entry(mask, [&](std::int64_t row, std::int64_t column, std::size_t entry) {
    const double factor = head.dropout.factor(row, column);
    slopes[entry] = factor == 0 ? 0 : factor * slopes[entry];
    row_sums[row] += probabilities[entry] * slopes[entry];
  });

  AttentionGradients gradients = {.query = zeros(mask.rows, head.n),
                                  .key = zeros(mask.cols, head.n),
                                  .value = zeros(mask.cols, head.value_size),
                                  .bias = zeros(mask.nonzeros(), 1)};
  each_entry(mask, [&](std::int64_t row, std::int64_t column, std::size_t entry) {
    const double by_bias = gradients.bias[entry] = probabilities[entry] * (slopes[entry] - row_sums[row]);
    const double by_score = head.scale * score_slopes[entry] * by_bias;
    add_row(gradients.query, row, by_score, head.key, column, head.n);
    add_row(gradients.key, column, by_score, head.query, row, head.n);
    const double factor = head.dropout.factor(row, column);
    if (factor == 0) return;
    add_row(gradients.value, column, factor * probabilities[entry], output_gradient, row, head.value_size);
  });
  return gradients;
}

}  // namespace vostok::sparse
