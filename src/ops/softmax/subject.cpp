#include "ops/softmax/subject.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <type_traits>

#include "ops/limits.hpp"
#include "ops/machine.hpp"

namespace vostok::ops {

namespace {

static_assert(codegen::lists_every_field<SoftmaxTraits>(), "fields(SoftmaxTraits) must name every member");

std::int64_t stride_or_packed(std::int64_t stride, const Query& query) {
  return stride != 0 ? stride : query.statistics.nonzeros;
}

/// The widest aligned vector of every load and store, counted over the batch. The pointers' alignment allows it, and
/// the matrices of a batch are equally misaligned in every operand. Strides are 0 if packed: the next topology of this
/// shape may have any number of nonzeros, so packed operands go together with packed ones only.
template <std::size_t Count>
int widest_vector(const Dtype element, const Dtype output, int alignment_bytes, std::int64_t batch,
                  const std::array<std::int64_t, Count>& strides) {
  int widest = std::min(16, alignment_bytes) / size_of(element);
  if (alignment_bytes < 16) widest = std::min(widest, alignment_bytes / size_of(output));
  if (batch == 1) return widest;
  for (const std::int64_t stride : strides) {
    if ((stride == 0) != (strides.front() == 0)) return 1;
    widest = static_cast<int>(std::gcd<std::int64_t>(widest, stride - strides.front()));
  }
  return widest;
}

template <class QueryType>
SoftmaxSubject subject_of(const QueryType& query, bool backward, RowStatistics row_statistics, int widest) {
  const auto& problem = query.problem;
  return {.query = query,
          .traits = {.backward = backward,
                     .element = problem.element,
                     .output = problem.output.value_or(problem.element),
                     .scale = problem.scale,
                     .statistics = row_statistics,
                     .wide_offsets = query.statistics.nonzeros > std::numeric_limits<std::int32_t>::max(),
                     .widest_vector = widest},
          .batch = problem.batch};
}

}  // namespace

SoftmaxSubject softmax_subject(const SoftmaxQuery& query) {
  const Softmax& p = query.problem;
  const std::array strides = {p.value_stride, p.output_stride};
  return subject_of(query, false, p.statistics,
                    widest_vector(p.element, p.output.value_or(p.element), p.alignment_bytes, p.batch, strides));
}

SoftmaxSubject softmax_subject(const SoftmaxBackwardQuery& query) {
  const SoftmaxBackward& p = query.problem;
  const std::array strides = {p.probability_stride, p.output_gradient_stride, p.input_gradient_stride};
  return subject_of(query, true, RowStatistics::none,
                    widest_vector(p.element, p.output.value_or(p.element), p.alignment_bytes, p.batch, strides));
}

SoftmaxOperands softmax_operands(const SoftmaxQuery& query, const void* row_offsets) {
  SoftmaxOperands operands{};
  operands.row_offsets = row_offsets;
  operands.value_stride = stride_or_packed(query.problem.value_stride, query);
  operands.output_stride = stride_or_packed(query.problem.output_stride, query);
  operands.batch = query.problem.batch;
  operands.m = static_cast<unsigned>(query.statistics.rows);
  return operands;
}

SoftmaxOperands softmax_operands(const SoftmaxBackwardQuery& query, const void* row_offsets) {
  SoftmaxOperands operands{};
  operands.row_offsets = row_offsets;
  operands.value_stride = stride_or_packed(query.problem.output_gradient_stride, query);
  operands.probability_stride = stride_or_packed(query.problem.probability_stride, query);
  operands.output_stride = stride_or_packed(query.problem.input_gradient_stride, query);
  operands.batch = query.problem.batch;
  operands.m = static_cast<unsigned>(query.statistics.rows);
  return operands;
}

SoftmaxOperands with_call(SoftmaxOperands operands, const SoftmaxArguments& call) {
  operands.values = call.values;
  operands.output = call.output;
  operands.row_statistics = call.row_statistics;
  operands.device_scale = call.device_scale;
  operands.scale = call.scale;
  return operands;
}

SoftmaxOperands with_call(SoftmaxOperands operands, const SoftmaxBackwardArguments& call) {
  operands.values = call.output_gradient;
  operands.probabilities = call.probabilities;
  operands.output = call.input_gradient;
  operands.device_scale = call.device_scale;
  operands.scale = call.scale;
  return operands;
}

double softmax_resident_threads(const Query& query) {
  const bool gpu = query.device != nullptr && query.device->info().gpu;
  return machine_of(query).multiprocessors *
         multiprocessor_of(gpu ? query.device : nullptr, multiprocessor_of_sm_90).threads;
}

double softmax_bytes_us(const SoftmaxSubject& subject, double reads) {
  constexpr double l2_bytes_per_us = 11e6;
  const Machine machine = machine_of(subject.query);
  const double entries = static_cast<double>(subject.statistics().nonzeros) * static_cast<double>(subject.batch);
  const double input_bytes = entries * size_of(subject.traits.element) * (subject.traits.backward ? 2 : 1);
  const double output_bytes = entries * size_of(subject.traits.output);
  const bool cached = input_bytes + output_bytes < cached_softmax_bytes;
  return (input_bytes * reads + output_bytes) /
         (cached ? l2_bytes_per_us * machine.speed() : machine.memory_bytes_per_us);
}

}  // namespace vostok::ops
