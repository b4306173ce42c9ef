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

/// Registers that a thread's entries take at least, and what a block of `threads` leaves each.
std::int64_t softmax_registers_needed(const SoftmaxTraits& traits, int vector, int held_vectors);
std::int64_t softmax_register_limit(int threads);

/// The device's rates for cost models: an H200's where the query names none.
struct SoftmaxMachine {
  double multiprocessors = 132;
  double memory_bytes_per_us = 4.2e6;
  double l2_bytes_per_us = 11e6;
  double l2_bytes = 50e6;
  double threads_per_multiprocessor = 2048;
};
SoftmaxMachine softmax_machine(const Query& query);

/// Microseconds in which the operands move once; `reads`: how often the input is read.
double softmax_bytes_us(const SoftmaxSubject& subject, const SoftmaxMachine& machine, double reads);

}  // namespace vostok::ops
