// Attention with random operands on a device, forward and backward: what the tool, the benchmarks and the tests run and verify.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <vostok/attention.hpp>

#include "tune/attention_operands.hpp"
#include "tune/case.hpp"

namespace vostok::tune {

/// What the output is held to. 5e-7 is what exponentials in f32 cost; the scores' error enters as their sum's, since scaled
/// scores of these operands are below 1 and exp's relative error is their absolute one; the product is a sum over a row.
/// A 16-bit type rounds each probability once (below its normal range by half its smallest value, against 1 / row length).
double attention_tolerance(const AttentionOperands& operands);

/// The same of the gradients, in which two sampled products and a softmax's gradient follow one another, and 16-bit types round the
/// probabilities, their gradients, the scores' gradients and the result.
double attention_backward_tolerance(const AttentionOperands& operands);

class AttentionCase final : public CaseOf<AttentionArguments> {
 public:
  /// `saved_bytes` are the plan's. Errors: out_of_memory.
  AttentionCase(device::Device& device, const SparseAttention& problem, sparse::Csr mask, std::uint64_t seed, std::int64_t saved_bytes);

  /// Of the two products, multiply-adds twice counted.
  double flops() const override;
  /// Checks the output, and what was saved.
  Check verify(const std::function<void(Stream)>& enqueue) override;

 private:
  device::Device& device_;
  AttentionOperands operands_;
  std::vector<std::int64_t> heads_;                  ///< that are compared
  std::vector<sparse::AttentionForward> reference_;  ///< of each of them
  HeadsOutput output_;
  HeadsOutput saved_;
};

class AttentionBackwardCase final : public CaseOf<AttentionBackwardArguments> {
 public:
  /// `saved_bytes` are the plan's. Errors: out_of_memory.
  AttentionBackwardCase(device::Device& device, const SparseAttentionBackward& problem, sparse::Csr mask, std::uint64_t seed,
                        std::int64_t saved_bytes);

  /// A forward pass on the same operands. Where the problem saves something, it must be executed (with a workspace) before
  /// `verify`: it leaves what the backward pass reads.
  AttentionArguments forward_call() const;

  /// Of the four products that the gradients need, multiply-adds twice counted.
  double flops() const override;
  /// Checks the three gradients; `error` is the largest of theirs.
  Check verify(const std::function<void(Stream)>& enqueue) override;

 private:
  device::Device& device_;
  AttentionOperands operands_;
  HeadsInput output_gradient_;
  std::vector<std::int64_t> heads_;                    ///< that are compared
  std::vector<sparse::AttentionGradients> reference_;  ///< of each of them
  HeadsOutput output_;                                 ///< of the forward pass: not looked at
  HeadsOutput saved_;
  HeadsOutput query_gradient_;
  HeadsOutput key_gradient_;
  HeadsOutput value_gradient_;
};

}  // namespace vostok::tune
