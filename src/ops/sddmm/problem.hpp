// The SDDMM problem inside the library: its fields listed once, its checks, its query.
#pragma once

#include <memory>

#include <vostok/sddmm.hpp>
#include <vostok/topology.hpp>

#include "ops/family.hpp"
#include "ops/problem_fields.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok {

/// Every field of a problem: visit(name, value, KeyRole). Checked complete in problem.cpp.
template <FieldsOf<Sddmm> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("n", problem.n, KeyRole{"a feature: stored exact, bucketed for look-up"});
  visit("batch", problem.batch, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("output", problem.output, KeyRole{});
  visit("index", problem.index, KeyRole{});
  visit("lhs_layout", problem.lhs_layout, KeyRole{});
  visit("rhs_layout", problem.rhs_layout, KeyRole{});
  visit("lhs_leading", problem.lhs_leading, KeyRole{});
  visit("rhs_leading", problem.rhs_leading, KeyRole{});
  visit("lhs_stride", problem.lhs_stride, KeyRole{});
  visit("rhs_stride", problem.rhs_stride, KeyRole{});
  visit("output_stride", problem.output_stride, KeyRole{.alignment_only = true});
  visit("multiplier_stride", problem.multiplier_stride, KeyRole{.alignment_only = true, .beside = true});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("math", problem.math, KeyRole{});
  visit("deterministic", problem.deterministic, KeyRole{});
  visit("nonfinite", problem.nonfinite, KeyRole{.stored_as = "dense"});
  visit("scale", problem.scale, KeyRole{.beside = true});
  visit("multiply", problem.multiply, KeyRole{.beside = true});
  visit("accumulate", problem.accumulate, KeyRole{.beside = true});
}

namespace ops {

struct SddmmQuery : Query {
  Sddmm problem;  ///< output and index filled in; packed or unused strides are 0

  StoredMatrix lhs() const {
    return stored_matrix(problem.lhs_layout, statistics.rows, problem.n, problem.lhs_leading, problem.lhs_stride);
  }
  StoredMatrix rhs() const {
    return stored_matrix(problem.rhs_layout, statistics.cols, problem.n, problem.rhs_leading, problem.rhs_stride);
  }
  /// The nonzeros of each D, as one line.
  StoredMatrix output() const {
    return stored_matrix(Layout::row_major, 1, statistics.nonzeros, 0, problem.output_stride);
  }
};

/// Throws invalid_argument for a value that makes no sense, naming the field and its value.
void validate(const Sddmm& problem, const TopologyStatistics& statistics);

/// The query of a valid problem; `n` is {problem.n, problem.n}.
std::shared_ptr<SddmmQuery> make_query(const Sddmm& problem, const TopologyStatistics& statistics, const SizeRange& n,
                                       const device::Device* device);

}  // namespace ops
}  // namespace vostok
