// The fields of attention's problem, listed once. No key contains them: attention is planned as steps, which have their
// own keys.
#pragma once

#include <vostok/attention.hpp>

#include "ops/problem_fields.hpp"

namespace vostok {

template <FieldsOf<SparseAttention> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("n", problem.n, KeyRole{});
  visit("value_size", problem.value_size, KeyRole{});
  visit("batch", problem.batch, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("index", problem.index, KeyRole{});
  visit("query_leading", problem.query_leading, KeyRole{});
  visit("key_leading", problem.key_leading, KeyRole{});
  visit("value_leading", problem.value_leading, KeyRole{});
  visit("output_leading", problem.output_leading, KeyRole{});
  visit("query_stride", problem.query_stride, KeyRole{});
  visit("key_stride", problem.key_stride, KeyRole{});
  visit("value_stride", problem.value_stride, KeyRole{});
  visit("output_stride", problem.output_stride, KeyRole{});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("math", problem.math, KeyRole{});
  visit("deterministic", problem.deterministic, KeyRole{});
  visit("nonfinite", problem.nonfinite, KeyRole{});
  visit("saved", problem.saved, KeyRole{});
  visit("heads_at_once", problem.heads_at_once, KeyRole{});
}
static_assert(ops::lists_every_problem_field<SparseAttention>(),
              "problem_fields must name every member of SparseAttention");

}  // namespace vostok
