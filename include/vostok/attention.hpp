// Attention whose score matrix is sparse: softmax(scale * Q K^T, at the mask) V, for a batch of heads that share the
// mask.
//
// One kernel may compute it, whose scores never reach memory, and three its gradients; else, and where that
// is expected or measured to take less, it is composed of a sampled product, a softmax and a product.
// PlanOptions::family takes the name of such a kernel's family, or "composed".
#pragma once

#include <cstdint>

#include <vostok/enums.hpp>

namespace vostok {

struct AttentionArguments {
  const void* query = nullptr;  ///< [batch, m, n]
  const void* key = nullptr;    ///< [key_heads, k, n]
  const void* value = nullptr;  ///< [key_heads, k, value_size]
  const void* bias = nullptr;   ///< of a problem that is `biased`: [batch, nonzeros], in the mask's order
  void* output = nullptr;       ///< [batch, m, value_size]; shares no element with another operand
  void* saved = nullptr;        ///< saved_bytes() long, 256-byte aligned; only where the problem saves something
  float scale = 0;              ///< 0: 1 / sqrt(n), or 1 where n is 0
  float softcap = 0;            ///< of a problem that is `capped`, positive and finite; else 0
  void* workspace = nullptr;
  float dropout = 0;  ///< of a problem that is `dropped`: the share of probabilities to drop, between 0 and 1; else 0
  const std::uint64_t* dropout_state = nullptr;  ///< likewise: [2] on the device, a seed and an offset, read by kernels
};

/// The mask [m, k] is the topology: query i attends to the keys of row i. A query without keys gets zeros.
struct SparseAttention {
  using Arguments = AttentionArguments;
  static constexpr bool masked = true;  ///< planned with a topology

  std::int64_t n = 0;           ///< size of a query and of a key; 0: every score is 0
  std::int64_t value_size = 0;  ///< 0: n
  std::int64_t batch = 1;       ///< heads; 0: nothing to do
  /// Heads of keys and of values, a divisor of batch; 0: batch. Each serves batch / key_heads heads of queries that
  /// follow one another, also where a batch is sequences of such heads. A composition computes one head at a time.
  std::int64_t key_heads = 0;
  Dtype element = Dtype::f32;  ///< of every operand; scores are f32 on their way to the softmax
  IndexType index = IndexType::automatic;
  std::int64_t query_leading = 0;  ///< elements between two queries of a head; 0: packed
  std::int64_t key_leading = 0;
  std::int64_t value_leading = 0;
  std::int64_t output_leading = 0;
  std::int64_t query_stride = 0;  ///< elements between two heads; 0: packed
  std::int64_t key_stride = 0;
  std::int64_t value_stride = 0;
  std::int64_t output_stride = 0;
  int alignment_bytes = 16;
  Math math = Math::accurate;
  bool deterministic = true;
  NonFinite nonfinite = NonFinite::sparse;
  Saved saved = Saved::none;  ///< what the forward pass leaves for the backward pass
  /// Whether scaled scores s become softcap * tanh(s / softcap). By one kernel.
  bool capped = false;
  /// Whether query i of m attends to key j of k, where the mask has it, only if j <= i + k - m: the last query to all.
  /// By one kernel.
  bool causal = false;
  /// Whether each element of the mask has a bias of the type `element`, added to its scaled and perhaps capped score:
  /// by -infinity it is left out, whatever its key and value hold. By one kernel.
  bool biased = false;
  std::int64_t bias_stride = 0;  ///< elements between two heads' biases; 0: all heads share one list
  /// Whether probabilities are dropped at random behind the softmax, and the others divided by 1 - dropout. Which are
  /// is a function of seed, offset, head, row and column alone. By one kernel.
  bool dropped = false;
  /// Heads that a composition computes at a time, a divisor of batch; the workspace holds their scores and
  /// probabilities. 0: as many heads as have at most 128 MiB of probabilities, at least one.
  std::int64_t heads_at_once = 0;

  friend bool operator==(const SparseAttention&, const SparseAttention&) = default;
};

struct AttentionBackwardArguments {
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
  const void* bias = nullptr;
  const void* output = nullptr;           ///< of the forward pass; only where that saved row statistics
  const void* output_gradient = nullptr;  ///< laid out as the output
  const void* saved = nullptr;            ///< of the forward pass
  void* query_gradient = nullptr;  ///< laid out as the queries; gradients share no element with one another or an input
  void* key_gradient = nullptr;
  void* value_gradient = nullptr;
  /// By the biases of all heads, packed [batch, nonzeros] however they share them; null: not wanted.
  void* bias_gradient = nullptr;
  float scale = 0;
  float softcap = 0;
  void* workspace = nullptr;
  float dropout = 0;  ///< that of the forward pass, with the same seed and offset
  const std::uint64_t* dropout_state = nullptr;
};

/// The gradients of SparseAttention by its inputs.
struct SparseAttentionBackward {
  using Arguments = AttentionBackwardArguments;
  static constexpr bool masked = true;  ///< planned with a topology

  SparseAttention forward = {};  ///< the problem whose gradient this is, `saved` included

  friend bool operator==(const SparseAttentionBackward&, const SparseAttentionBackward&) = default;
};

}  // namespace vostok
