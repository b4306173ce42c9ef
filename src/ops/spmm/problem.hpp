// The SpMM problem inside the library: its fields listed once, its checks, its key.
#pragma once

#include <string>
#include <vector>

#include <vostok/problem.hpp>
#include <vostok/topology.hpp>

#include "codegen/fields.hpp"
#include "ops/spmm/family.hpp"

namespace vostok {

/// How a problem field takes part in cache keys.
struct KeyRole {
  const char* left_out = nullptr;  ///< why the field is not in the exact part; nullptr: it is
};

/// Every field of an epilogue, all in the key.
template <class E, class Visit>
  requires std::is_same_v<std::remove_const_t<E>, Epilogue>
constexpr void fields(E& epilogue, Visit&& visit) {
  visit("bias", epilogue.bias);
  visit("residual", epilogue.residual);
  visit("activation", epilogue.activation);
  visit("scale", epilogue.scale);
  visit("accumulate", epilogue.accumulate);
}

/// Every field of a resolved problem: visit(name, value, KeyRole). Checked complete in problem.cpp.
template <class P, class Visit>
constexpr void problem_fields(P& problem, Visit&& visit) {
  visit("n", problem.n, KeyRole{"a feature: stored exact, bucketed for look-up"});
  visit("n_values", problem.n_values, KeyRole{"each n is decided, and stored, on its own"});
  visit("batch", problem.batch, KeyRole{});
  visit("element", problem.element, KeyRole{});
  visit("output", problem.output, KeyRole{});
  visit("index", problem.index, KeyRole{});
  visit("sparse_transposed", problem.sparse_transposed, KeyRole{});
  visit("dense_layout", problem.dense_layout, KeyRole{});
  visit("output_layout", problem.output_layout, KeyRole{});
  visit("dense_leading", problem.dense_leading, KeyRole{});
  visit("output_leading", problem.output_leading, KeyRole{});
  visit("alignment_bytes", problem.alignment_bytes, KeyRole{});
  visit("math", problem.math, KeyRole{});
  visit("deterministic", problem.deterministic, KeyRole{});
  visit("nonfinite", problem.nonfinite, KeyRole{});
  visit("value_lifetime", problem.value_lifetime, KeyRole{});
  visit("epilogue", problem.epilogue, KeyRole{});
}

namespace ops {

/// Throws invalid_argument for a value that makes no sense and unsupported for one that this version lacks, naming
/// the field and its value. `cols` is the topology's.
void validate(const Spmm& problem, const TopologyStatistics& statistics);

/// The problem with `output` and `index` filled in, leading dimensions equal to n written as 0 (packed), and one n.
Spmm resolve(const Spmm& problem, std::int64_t n);

/// "accumulate=false activation=relu ..." of every field that is in the key; operation "spmm" is not part of it.
std::string exact_key(const Spmm& resolved);

/// The largest n that a plan serves.
std::int64_t largest_size(const Spmm& problem);

/// What a plan must decide for, by ascending `most`: each n that it serves is in one of them, and the first that serves it
/// is meant for it. Several n between two of n_values give two ranges, for those whose packed rows allow vector
/// loads comes before the one for all. Empty where n is 0.
std::vector<SizeRange> size_ranges(const Spmm& problem);

}  // namespace ops
}  // namespace vostok
