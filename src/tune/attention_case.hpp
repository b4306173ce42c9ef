// Attention, forward and backward, with random operands on a device: what the tool, the benchmarks and the tests run
// and verify.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <vostok/attention.hpp>

#include "tune/attention_operands.hpp"
#include "tune/case.hpp"

namespace vostok::tune {

/// Error bound of the output. 5e-7 is the error of f32 exponentials. The scores' error counts as that of their sums:
/// scaled scores of these operands are below 1, and exp turns an absolute error into a relative one. The product is a
/// sum over a row. A 16-bit type rounds each probability once (below its normal range by half its smallest value,
/// against 1 / row length).
double attention_tolerance(const AttentionOperands& operands);

/// Error bound of the gradients. They chain two sampled products and a softmax's gradient, and 16-bit types round the
/// probabilities, their gradients, the scores' gradients and the result. Without what AttentionBackwardCase adds: the
/// rounding of a 16-bit output, where its inner product with its gradient cancels.
double attention_backward_tolerance(const AttentionOperands& operands);

class AttentionCase final : public CaseOf<AttentionArguments> {
 public:
  /// `saved_bytes`: those of the plan. Errors: out_of_memory.
  AttentionCase(device::Device& device, const SparseAttention& problem, sparse::Csr mask, std::uint64_t seed,
                std::int64_t saved_bytes);

  /// Operations of the two products: two for each multiply-add.
  double flops() const override;
  /// Checks the output, and what was saved.
  Check verify(const std::function<void(Stream)>& enqueue) override;

 private:
  device::Device& device_;
  AttentionOperands operands_;
  std::vector<std::int64_t> heads_;                  ///< heads that are compared
  std::vector<sparse::AttentionForward> reference_;  ///< one for each of them
  HeadsOutput output_;
  HeadsOutput saved_;
};

/// The gradients of the heads that share keys.
struct SharedGradients {
  std::vector<std::vector<double>> query, bias;  ///< of each head
  std::vector<double> key, value;                ///< summed over the heads
};

class AttentionBackwardCase final : public CaseOf<AttentionBackwardArguments> {
 public:
  /// `saved_bytes`: those of the plan. Errors: out_of_memory.
  AttentionBackwardCase(device::Device& device, const SparseAttentionBackward& problem, sparse::Csr mask,
                        std::uint64_t seed, std::int64_t saved_bytes);

  /// Arguments of a forward pass on the same operands. If the problem saves probabilities, run that (with a workspace)
  /// before `verify`: it writes what the backward pass reads. Row statistics and the output are there already, of the
  /// heads that are compared; others are zeros.
  AttentionArguments forward_call() const;

  /// Operations of the four products that the gradients need: two for each multiply-add.
  double flops() const override;
  /// Checks all gradients; `error` is the largest of their errors.
  Check verify(const std::function<void(Stream)>& enqueue) override;

 private:
  SharedGradients shared_gradients(std::int64_t key_head) const;
  /// The forward pass of each head that is compared; of the others nothing.
  std::vector<sparse::AttentionForward> forward_passes() const;
  double output_rounding(const std::vector<sparse::AttentionForward>& passes, std::int64_t key_head,
                         const SharedGradients& shared) const;
  void write_forward(std::vector<sparse::AttentionForward> passes) const;

  device::Device& device_;
  AttentionOperands operands_;
  HeadsInput output_gradient_;
  std::vector<std::int64_t> key_heads_;     ///< heads of keys that are compared, with those of queries that read them
  std::vector<SharedGradients> reference_;  ///< one for each of them
  HeadsOutput output_;                      ///< of the forward pass; not checked
  HeadsOutput saved_;
  HeadsOutput query_gradient_;
  HeadsOutput key_gradient_;
  HeadsOutput value_gradient_;
  HeadsOutput bias_gradient_;  ///< empty where the problem is not biased
  double tolerance_;
};

}  // namespace vostok::tune
