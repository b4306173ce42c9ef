// Attention as a composition: the problems of its steps, and the memory between them.
#pragma once

#include <cstdint>

#include <vostok/attention.hpp>
#include <vostok/sddmm.hpp>
#include <vostok/softmax.hpp>
#include <vostok/spmm.hpp>
#include <vostok/topology.hpp>

#include "plan/operands.hpp"

namespace vostok::plan {

/// Throws invalid_argument or unsupported, naming the field and its value. `object` is what cannot be planned.
void validate_attention(const char* object, const SparseAttention& problem, const TopologyStatistics& mask);

/// Where the arrays of one attention lie behind their pointers.
struct AttentionRegions {
  Region query, key, value, output;
};

/// An array of all heads, needed where it is used and has elements.
inline Operand heads_operand(const char* name, const Region& region, Alignment alignment, bool used, bool written = false) {
  return {.name = name, .wanted = needed_if(used && region.bytes() > 0), .alignment_bytes = alignment, .region = region, .written = written};
}

/// What the forward pass leaves: it writes that, and the backward pass reads it.
Operand saved_operand(const SparseAttention& problem, std::int64_t saved_bytes, bool written);

/// The problems of one attention's steps. Scores and probabilities are [batch, nonzeros], each head's starting aligned.
class AttentionSteps {
 public:
  AttentionSteps(const SparseAttention& problem, const TopologyStatistics& mask);

  Sddmm scores() const;                                   ///< S = Q K^T at the mask, f32
  Softmax probabilities(RowStatistics statistics) const;  ///< P = softmax(scale * S)
  Spmm product() const;                                   ///< O = P V
  Sddmm probability_gradient() const;                     ///< dP = dO V^T at the mask
  SoftmaxBackward score_gradient() const;                 ///< dS = scale * P * (dP - rows of sum P dP)
  Spmm value_gradient() const;                            ///< dV = P^T dO
  Spmm query_gradient() const;                            ///< dQ = dS K
  Spmm key_gradient() const;                              ///< dK = dS^T Q

  AttentionRegions regions() const;
  /// Bytes of a [batch, nonzeros] array of a type.
  std::int64_t bytes(Dtype type) const;
  std::int64_t saved_bytes() const;

 private:
  Sddmm sddmm() const;
  Spmm spmm(std::int64_t n) const;

  const SparseAttention& problem_;
  TopologyStatistics mask_;
  std::int64_t value_size_;
  std::int64_t score_stride_;
};

/// The factor of the scores: as passed, or 1 / sqrt(n) for 0.
float attention_scale(const SparseAttention& problem, float passed);

/// Carves a workspace into parts that are aligned to 256 bytes.
class Carving {
 public:
  /// The offset of the next part.
  std::int64_t take(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace vostok::plan
