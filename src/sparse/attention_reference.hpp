// Sparse attention and its gradients in float64, one head at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sparse/csr.hpp"
#include "sparse/sddmm_reference.hpp"

namespace vostok::sparse {

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
};

struct AttentionForward {
  std::vector<double> logarithms;  ///< [m], log-sum-exp of each row's scaled scores; -infinity for a query without keys
  std::vector<double> probabilities;  ///< [nonzeros]
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
