#include "plan/attention_operands.hpp"

#include <cstdint>

#include "plan/attention_steps.hpp"
#include "plan/plan_state.hpp"

namespace vostok::plan {

namespace {

/// An array of all heads, needed where it is used and has elements.
Operand heads_operand(const char* name, const Region& region, Alignment alignment, bool used, bool written = false) {
  return {.name = name,
          .wanted = needed_if(used && region.bytes() > 0),
          .alignment_bytes = alignment,
          .region = region,
          .written = written};
}

/// The operand `saved`: an output of the forward pass, an input of the backward pass.
Operand saved_operand(const SparseAttention& problem, std::int64_t saved_bytes, bool written) {
  return {.name = "saved",
          .wanted = problem.saved == Saved::none ? Wanted::unasked : needed_if(saved_bytes > 0),
          .alignment_bytes = workspace_alignment_bytes,
          .region = plain_region(saved_bytes),
          .written = written,
          .asked_by = "saved"};
}

/// Seed and offset.
Operand dropout_operand(const SparseAttention& problem) {
  return {.name = "dropout_state",
          .wanted = needed_if_asked(problem.dropped),
          .alignment_bytes = int{sizeof(std::uint64_t)},
          .region = plain_region(2 * sizeof(std::uint64_t)),
          .asked_by = "dropped"};
}

/// The output of the forward pass, of which the backward pass makes what it needs beside row statistics.
Operand read_output(const SparseAttention& problem, const AttentionRegions& regions, const Alignment& alignment,
                    bool attends) {
  Operand output = heads_operand("output", regions.output, alignment, attends);
  output.asked_by = "saved";
  if (problem.saved != Saved::row_statistics) output.wanted = Wanted::unasked;
  return output;
}

/// Biases, or their gradients, of heads that lie `stride` elements apart.
Operand bias_operand(const char* name, const SparseAttention& problem, const TopologyStatistics& mask,
                     std::int64_t stride, bool written = false) {
  const Region region =
      array_region(problem.batch > 0 ? mask.nonzeros : 0, problem.element, stride > 0 ? problem.batch : 1, stride);
  return {.name = name,
          .wanted = problem.biased ? needed_if(region.bytes() > 0 && !written) : Wanted::unasked,
          .alignment_bytes = size_of(problem.element),
          .region = region,
          .written = written,
          .asked_by = "biased"};
}

}  // namespace

std::array<Operand, 7> attention_operands(const SparseAttention& problem, const TopologyStatistics& mask) {
  const AttentionSteps of(problem, mask, problem.batch);
  const AttentionRegions regions = of.regions();
  const Alignment alignment = declared(problem.alignment_bytes, problem.element);
  const bool attends = mask.nonzeros > 0;
  return {heads_operand("query", regions.query, alignment, attends),
          heads_operand("key", regions.key, alignment, attends),
          heads_operand("value", regions.value, alignment, attends),
          bias_operand("bias", problem, mask, problem.bias_stride),
          heads_operand("output", regions.output, alignment, true, true),
          saved_operand(problem, of.saved_bytes(), true),
          dropout_operand(problem)};
}

std::array<Operand, 12> attention_backward_operands(const SparseAttention& problem, const TopologyStatistics& mask) {
  const AttentionSteps of(problem, mask, problem.batch);
  const AttentionRegions regions = of.regions();
  const Alignment alignment = declared(problem.alignment_bytes, problem.element);
  const bool attends = mask.nonzeros > 0;
  return {heads_operand("query", regions.query, alignment, attends),
          heads_operand("key", regions.key, alignment, attends),
          heads_operand("value", regions.value, alignment, attends),
          bias_operand("bias", problem, mask, problem.bias_stride),
          read_output(problem, regions, alignment, attends),
          heads_operand("output_gradient", regions.output, alignment, attends),
          saved_operand(problem, of.saved_bytes(), false),
          heads_operand("query_gradient", regions.query, alignment, true, true),
          heads_operand("key_gradient", regions.key, alignment, true, true),
          heads_operand("value_gradient", regions.value, alignment, true, true),
          bias_operand("bias_gradient", problem, mask, mask.nonzeros, true),
          dropout_operand(problem)};
}

}  // namespace vostok::plan
