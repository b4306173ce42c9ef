// What the problem fixes for a kernel that stores C.
#pragma once

#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::ops {

/// How C lies and what is made of the sums first. A kernel that adds up part of k leaves both to the sum, and its traits without.
template <class Traits>
void take_output(const SpmmQuery& query, Traits& traits) {
  const Spmm& problem = query.problem;
  const Epilogue& epilogue = problem.epilogue;
  traits.output = problem.output.value_or(problem.element);
  traits.output_layout = problem.output_layout;
  traits.output_alignment = output_alignment(query);
  traits.bias = epilogue.bias;
  traits.activation = epilogue.activation;
  traits.scale = epilogue.scale;
  traits.residual = epilogue.residual;
  traits.accumulate = epilogue.accumulate;
}

/// The same from other traits.
template <class Traits>
void take_output(const Traits& from, Traits& traits) {
  traits.output = from.output;
  traits.output_layout = from.output_layout;
  traits.output_alignment = from.output_alignment;
  traits.bias = from.bias;
  traits.activation = from.activation;
  traits.scale = from.scale;
  traits.residual = from.residual;
  traits.accumulate = from.accumulate;
}

/// Of a kernel that makes C of sums: nothing of A or B, so that few kernels serve all.
template <class Traits>
Traits output_traits(const Traits& whole) {
  Traits traits;
  traits.batched = whole.batched;
  take_output(whole, traits);
  return traits;
}

}  // namespace vostok::ops
