// The traits of a kernel that stores C, which the problem fixes.
#pragma once

#include <tuple>

#include "ops/spmm/line_alignment.hpp"
#include "ops/spmm/problem.hpp"

namespace vostok::ops {

/// The layout of C, and the epilogue.
template <class Traits>
auto output_fields(Traits& traits) {
  return std::tie(traits.output, traits.output_layout, traits.output_alignment, traits.bias, traits.activation,
                  traits.scale, traits.residual, traits.accumulate, traits.bias_element);
}

/// Sets these traits as the problem says. A kernel that sums only a part of k does not set them: the
/// launch that adds the parts does.
template <class Traits>
void take_output(const SpmmQuery& query, Traits& traits) {
  const Spmm& problem = query.problem;
  const Epilogue& epilogue = problem.epilogue;
  output_fields(traits) =
      std::tuple(problem.output.value_or(problem.element), problem.output_layout, output_alignment(query),
                 epilogue.bias, epilogue.activation, epilogue.scale, epilogue.residual, epilogue.accumulate,
                 epilogue.bias_element.value_or(Dtype::f32));
}

/// Traits of a kernel that makes C from sums. They say nothing about A or B, so that few kernels serve all.
template <class Traits>
Traits output_traits(const Traits& whole) {
  Traits traits;
  traits.batched = whole.batched;
  output_fields(traits) = output_fields(whole);
  return traits;
}

}  // namespace vostok::ops
