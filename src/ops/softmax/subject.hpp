// What the softmax families look at, forward and backward alike.
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

/// Everything of the operands that a call does not change; `row_offsets` may be null.
SoftmaxOperands softmax_operands(const SoftmaxQuery& query, const void* row_offsets);
SoftmaxOperands softmax_operands(const SoftmaxBackwardQuery& query, const void* row_offsets);

/// The operands of one call.
SoftmaxOperands with_call(SoftmaxOperands operands, const SoftmaxArguments& call);
SoftmaxOperands with_call(SoftmaxOperands operands, const SoftmaxBackwardArguments& call);

/// Threads that a device keeps resident, for cost models.
double softmax_resident_threads(const Query& query);

/// Microseconds in which the operands move once; `reads`: how often the input is read.
double softmax_bytes_us(const SoftmaxSubject& subject, double reads);

}  // namespace vostok::ops
