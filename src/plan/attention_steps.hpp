// Attention as a composition: the problems of its steps, and the memory between them.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <vostok/attention.hpp>
#include <vostok/sddmm.hpp>
#include <vostok/softmax.hpp>
#include <vostok/spmm.hpp>
#include <vostok/topology.hpp>

#include "ops/attention/problem.hpp"
#include "plan/composed.hpp"
#include "plan/operands.hpp"

namespace vostok::plan {

/// Throws invalid_argument or unsupported, naming the field and its value. `object` is what cannot be planned.
void validate_attention(const char* object, const SparseAttention& problem, const TopologyStatistics& mask);

/// The name of a field that is set and that only one kernel computes; null if there is none.
const char* beyond_composition(const SparseAttention& problem);
/// Throws unsupported, naming that field.
void require_composable(const char* object, const SparseAttention& problem);

/// Throws invalid_argument unless a call brings a softcap where the problem is capped, and only there.
void require_softcap(const char* object, const SparseAttention& problem, float softcap);

/// Likewise of a share to drop where the problem is dropped.
void require_dropout(const char* object, const SparseAttention& problem, float dropout);

/// Where the arrays of one attention lie behind their pointers.
struct AttentionRegions {
  Region query, key, value, output;
};

/// Bytes between two heads of an array that holds all heads; `saved` is 0 if nothing is saved.
struct HeadStrides {
  std::int64_t query = 0, key = 0, value = 0, output = 0, saved = 0;
};

/// How many heads are computed at a time: the problem's heads_at_once, or the largest divisor of the batch for which
/// their probabilities take at most 128 MiB and the next group's operands are aligned as the problem declares.
std::int64_t heads_at_once(const SparseAttention& problem, const TopologyStatistics& mask);

/// Whether groups of so many heads of queries start where operands and saved memory may.
bool groups_start_aligned(const SparseAttention& problem, const TopologyStatistics& mask, std::int64_t heads);

/// The problems of one attention's steps, for a group of heads. Scores and probabilities are [heads, nonzeros]; those
/// of each head start aligned.
class AttentionSteps {
 public:
  AttentionSteps(const SparseAttention& problem, const TopologyStatistics& mask, std::int64_t heads);

  Sddmm scores() const;                                   ///< S = Q K^T at the mask, f32
  Softmax probabilities(RowStatistics statistics) const;  ///< P = softmax(scale * S)
  Spmm product() const;                                   ///< O = P V
  Sddmm probability_gradient() const;                     ///< dP = dO V^T at the mask
  SoftmaxBackward score_gradient() const;                 ///< dS = scale * P * (dP - rows of sum P dP)
  Spmm value_gradient(bool adds = false) const;           ///< dV = P^T dO, or dV + that
  Spmm query_gradient() const;                            ///< dQ = dS K
  Spmm key_gradient(bool adds = false) const;             ///< dK = dS^T Q, or dK + that

  AttentionRegions regions() const;
  HeadStrides strides() const;
  std::int64_t heads() const { return heads_; }
  std::int64_t batch() const { return problem_.batch; }
  std::int64_t group() const { return ops::group_of(problem_); }
  /// Bytes of a [heads, nonzeros] array of a type.
  std::int64_t bytes(Dtype type) const { return bytes(heads_, type); }
  std::int64_t saved_bytes() const;

 private:
  Sddmm sddmm() const;
  Spmm spmm(std::int64_t n) const;
  std::int64_t bytes(std::int64_t heads, Dtype type) const;

  const SparseAttention& problem_;
  TopologyStatistics mask_;
  std::int64_t heads_;
  std::int64_t value_size_;
  std::int64_t score_stride_;
  int alignment_bytes_;
};

/// Shared by the plans of the forward and the backward pass: both compute the heads in groups.
template <class Problem>
struct AttentionParts : ComposedState<Problem> {
  std::int64_t heads = 0;    ///< heads of a group
  bool in_parts = false;     ///< whether there is more than one group
  std::int64_t sharing = 1;  ///< heads of queries that share keys
  HeadStrides strides;

  Explanation explain(Detail detail) const override { return with_heads(ComposedState<Problem>::explain(detail)); }

 protected:
  /// What is told of heads beside the choices.
  Explanation with_heads(Explanation explanation) const {
    if (in_parts) explanation.config["heads_at_once"] = std::to_string(heads);
    return explanation;
  }
  void note_heads(const AttentionSteps& of) {
    heads = of.heads();
    in_parts = heads < of.batch();
    sharing = of.group();
    strides = of.strides();
  }
};

/// A pointer to a head's part of an array; null stays null.
template <class Pointer>
Pointer of_head(Pointer pointer, std::int64_t head, std::int64_t stride) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  return pointer == nullptr ? nullptr : static_cast<Byte*>(pointer) + head * stride;
}

/// Splits a workspace into parts that are aligned to 256 bytes.
class Carving {
 public:
  /// The offset of the next part.
  std::int64_t take(std::int64_t bytes);
  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t bytes_ = 0;
};

}  // namespace vostok::plan
