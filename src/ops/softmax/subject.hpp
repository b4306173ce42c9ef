// What the softmax families know of a query, forward and backward alike.
#pragma once

#include <cstdint>

#include <abi/softmax.h>

#include "ops/softmax/problem.hpp"

namespace vostok::ops {

/// A query of either direction, as rules, spaces and cost models see it.
struct SoftmaxSubject {
  const Query& query;
  SoftmaxTraits traits;
  std::int64_t batch;

  const TopologyStatistics& statistics() const { return query.statistics; }
  std::int64_t rows() const { return query.statistics.rows; }
};

SoftmaxSubject softmax_subject(const SoftmaxQuery& query);
SoftmaxSubject softmax_subject(const SoftmaxBackwardQuery& query);

/// The operands' fields that do not change between calls; `row_offsets` may be null.
SoftmaxOperands softmax_operands(const SoftmaxQuery& query, const void* row_offsets);
SoftmaxOperands softmax_operands(const SoftmaxBackwardQuery& query, const void* row_offsets);

/// Adds the pointers of one call.
SoftmaxOperands with_call(SoftmaxOperands operands, const SoftmaxArguments& call);
SoftmaxOperands with_call(SoftmaxOperands operands, const SoftmaxBackwardArguments& call);

/// Resident threads of a device, for cost models.
double softmax_resident_threads(const Query& query);

/// Microseconds of memory traffic if every operand moves once; `reads`: how often the input is read.
double softmax_bytes_us(const SoftmaxSubject& subject, double reads);

}  // namespace vostok::ops
