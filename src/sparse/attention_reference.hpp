// Sparse attention and its gradients in float64, one head at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sparse/csr.hpp"
#include "sparse/sddmm_reference.hpp"

namespace vostok::sparse {

/// Which probabilities are dropped (abi/dropout.h); the others are divided by 1 - rate.
struct AttentionDropout {
  float rate = 0;  ///< 0: none is
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  std::int64_t head = 0;

  /// What a probability is multiplied by: 0 where it is dropped.
  double factor(std::int64_t row, std::int64_t column) const;
};

/// The inputs of one head: query and key [., n], value [., value_size].
struct AttentionHead {
  DenseView query;
  DenseView key;
  DenseView value;
  std::int64_t n = 0;
  std::int64_t value_size = 0;
  double scale = 1;
  double softcap = 0;                ///< 0: none; else scaled scores s become softcap * tanh(s / softcap)
  std::span<const float> bias = {};  ///< [nonzeros], added behind all that; empty: none
  AttentionDropout dropout = {};
};

struct AttentionForward {
  std::vector<double> logarithms;  ///< [m], log-sum-exp of each row's scaled scores; -infinity for a query without keys
  std::vector<double> probabilities;  ///< [nonzeros], before dropout
  std::vector<double> output;         ///< [m, value_size]
};

/// The mask without the keys behind each query's own: those of row i beyond i + cols - rows.
Csr causal_mask(const Csr& mask);

/// softmax(scale * Q K^T, at the mask) V.
AttentionForward attention(const Csr& mask, const AttentionHead& head);

struct AttentionGradients {
  std::vector<double> query;  ///< [m, n]
  std::vector<double> key;    ///< [k, n]
  std::vector<double> value;  ///< [k, value_size]
  std::vector<double> bias;   ///< [nonzeros]
};

/// By the inputs, of the sum over output * output_gradient, which is [m, value_size].
AttentionGradients attention_gradients(const Csr& mask, const AttentionHead& head, const DenseView& output_gradient);

}  // namespace vostok::sparse
