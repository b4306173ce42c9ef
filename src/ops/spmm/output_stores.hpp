// How fast the tensor-core families store C, for cost models: by the pieces in which its lines take it, measured on an
// H200 (bench/notes/stores.md).
#pragma once

#include "ops/spmm/line_alignment.hpp"

namespace vostok::ops {

/// Elements of C that an SM stores in a cycle while all of them do.
inline double stored_per_cycle(const SpmmQuery& query) {
  const Spmm& problem = query.problem;
  const bool by_rows = problem.output_layout == Layout::row_major;
  const int alignment = output_alignment(query);
  if (problem.output.value_or(problem.element) == Dtype::f32) {
    if (!by_rows) return 3.1;
    return alignment >= 16 ? 3.8 : 2.75;
  }
  if (!by_rows) return alignment >= 8 ? 4.6 : 2.3;
  return alignment >= 16 ? 7.5 : alignment >= 8 ? 4.6 : 1.9;
}

/// Bytes of memory traffic that take as long as storing an element.
inline double stored_element_bytes(const SpmmQuery& query) {
  constexpr double bytes_per_cycle = 15.5;  // of one SM's share of the memory bandwidth
  return bytes_per_cycle / stored_per_cycle(query);
}

}  // namespace vostok::ops
