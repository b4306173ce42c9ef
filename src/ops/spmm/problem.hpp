// The SpMM problem inside the library: its fields listed once, its checks, its query.
#pragma once

#include <memory>
#include <vector>

#include <vostok/problem.hpp>
#include <vostok/topology.hpp>

#include "base/checked.hpp"
#include "ops/family.hpp"
#include "ops/problem_fields.hpp"
#include "ops/stored_matrix.hpp"

namespace vostok {

/// Every field of a problem: visit(name, value, KeyRole). Checked complete in problem.cpp.
template <FieldsOf<Spmm> P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("n", problem.n, KeyRole{"a feature: stored exact, bucketed for look-up"});
  visit("n_values", problem.n_values, KeyRole{"each n is decided, and stored, on its own"});
  visit("batch", problem.batch, KeyRole{});
  visit("values_per_batch", problem.values_per_batch, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("output", problem.output, KeyRole{});
  visit("index", problem.index, KeyRole{});
  visit("sparse_transposed", problem.sparse_transposed, KeyRole{});
  visit("dense_layout", problem.dense_layout, KeyRole{});
  visit("output_layout", problem.output_layout, KeyRole{});
  visit("dense_leading", problem.dense_leading, KeyRole{});
  visit("output_leading", problem.output_leading, KeyRole{});
  visit("value_stride", problem.value_stride, KeyRole{.alignment_only = true});
  visit("dense_stride", problem.dense_stride, KeyRole{});
  visit("output_stride", problem.output_stride, KeyRole{});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("math", problem.math, KeyRole{});
  visit("deterministic", problem.deterministic, KeyRole{});
  visit("nonfinite", problem.nonfinite, KeyRole{.stored_as = "dense"});
  visit("value_lifetime", problem.value_lifetime, KeyRole{});
  visit("epilogue", problem.epilogue, KeyRole{.beside = true});
}

namespace ops {

struct SpmmQuery : Query {
  Spmm problem;  ///< output and index filled in, packed strides 0, n the largest that is served

  /// Rows of C are rows of the matrix as kernels walk it; rows of B are its columns.
  StoredMatrix dense(std::int64_t columns) const {
    return stored_matrix(problem.dense_layout, statistics.cols, columns, problem.dense_leading, problem.dense_stride);
  }
  StoredMatrix output(std::int64_t columns) const {
    return stored_matrix(problem.output_layout, statistics.rows, columns, problem.output_leading,
                         problem.output_stride);
  }
  /// Elements between the values of two products; 0 if they share values.
  std::int64_t value_stride() const {
    if (!problem.values_per_batch) return 0;
    return problem.value_stride != 0 ? problem.value_stride : statistics.nonzeros;
  }
};

/// Throws invalid_argument for a value that makes no sense and unsupported for one that this version lacks, naming the
/// field and its value. `statistics` are A's, even if the problem multiplies by A^T.
void validate(const Spmm& problem, const TopologyStatistics& statistics);

/// The query of a valid problem for these n. `statistics` are those of the matrix as kernels walk it: of A^T
/// if the problem transposes A.
std::shared_ptr<SpmmQuery> make_query(const Spmm& problem, const TopologyStatistics& statistics, const SizeRange& n,
                                      const device::Device* device);

/// Elements between two sets of CSR values copied by Plan::pack: each set starts aligned for any number of nonzeros.
constexpr std::int64_t persistent_value_stride(std::int64_t nonzeros) { return round_up(nonzeros, 16); }

/// The largest n that a plan serves.
std::int64_t largest_size(const Spmm& problem);

/// The ranges of n that each need a choice, by ascending `most`. Every served n is in at least one; the first range
/// that contains it counts. Several n between two of n_values give two ranges: first the n whose packed rows allow
/// vector loads, then all n. Empty if n is 0.
std::vector<SizeRange> size_ranges(const Spmm& problem);

}  // namespace ops
}  // namespace vostok
