// What is asked of every SpMM family that reads packed values, beside spmm_trials.hpp. A Case has `sizes` too: those
// that its choice serves.
#pragma once

#include "device/problem_levels.hpp"
#include "device/spmm_trials.hpp"

namespace vostok::test {

inline Spmm persistent(std::int64_t n, Dtype element, Layout dense_layout = Layout::row_major) {
  return {.n = n,
          .element = element,
          .output = Dtype::f32,
          .dense_layout = dense_layout,
          .value_lifetime = ValueLifetime::persistent};
}

/// A batch for check_products_stay_apart.
inline Spmm three_products(std::int64_t n, Dtype element, ValueLifetime lifetime) {
  Spmm problem = persistent(n, element, Layout::column_major);
  problem.batch = 3;
  problem.values_per_batch = true;
  problem.sparse_transposed = true;
  problem.value_lifetime = lifetime;
  problem.epilogue.residual = true;
  return problem;
}

/// The family takes the query, unless there is nothing to multiply.
template <class Case>
void require_served(const Subject<Case>& subject, const NamedDevice& on, const Case& c) {
  const bool empty = c.host.walked.nonzeros() == 0;
  REQUIRE(subject.family.declines(c.query(on.device.get())).value_or("") == (empty ? "A has no nonzeros" : ""));
}

/// body(on, config) for the default and a random config on every device whose turn it is.
template <class Case, class Body>
void on_each(const Subject<Case>& subject, std::size_t turn, const Case& c, sparse::Random& random, Body&& body) {
  for (const NamedDevice& on : devices_of_turn(subject.devices, turn)) {
    require_served(subject, on, c);
    body(on, subject.default_config(on, c));
    body(on, subject.random_config(on, c, random));
  }
}

/// Every pair of types, layouts, strides, batches, alignments and epilogues, once `adapt(problem, i)` has made of it
/// what the family serves.
template <class Case, class Adapt>
void check_paired_problems(const Subject<Case>& subject, std::uint64_t seed, const std::array<std::int64_t, 7>& sizes,
                           Adapt&& adapt) {
  MESSAGE("seed " << seed);
  std::vector<LevelledProblem> problems = paired_tensor_problems(seed, sizes);
  CHECK(problems.size() >= 30);
  if (thread_sanitized) {
    MESSAGE("skipped: all but 4 of " << problems.size() << " problems, which take ThreadSanitizer too long");
    problems.resize(4);
  }
  sparse::Random random(seed);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    adapt(problems[i].problem, i);
    const Case c(problems[i].csr, problems[i].problem, seed + i);
    for (const NamedDevice& on : devices_of_turn(subject.devices, i)) {
      require_served(subject, on, c);
      subject.check(on, c, i % 2 == 0 ? subject.default_config(on, c) : subject.random_config(on, c, random));
    }
  }
}

/// A full matrix, `others`, one element, and matrices without nonzeros, rows or columns: plain, and with every
/// epilogue.
template <class Case>
void check_small_matrices(const Subject<Case>& subject, std::int64_t n, const std::vector<Dtype>& elements,
                          std::uint64_t seed, std::vector<sparse::Csr> others = {}) {
  const Epilogue everything{.bias = Bias::per_column,
                            .residual = true,
                            .activation = Activation::silu,
                            .scale = Scale::device,
                            .accumulate = true};
  std::vector<sparse::Csr> matrices = std::move(others);
  matrices.push_back(sparse::uniform(17, 200, 0.0, seed));
  matrices.push_back({.rows = 1, .cols = 1, .row_offsets = {0, 1}, .column_indices = {0}});
  matrices.push_back({.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}});
  matrices.push_back({.rows = 0, .cols = 3});
  matrices.push_back({.rows = 2, .cols = 70, .row_offsets = {0, 0, 0}});
  matrices.push_back({.rows = 0, .cols = 0});
  std::size_t turn = 0;
  for (const Dtype element : elements)
    for (const bool plain : {false, true})
      for (const sparse::Csr& csr : matrices) {
        Spmm problem = persistent(n, element);
        problem.batch = 2;
        problem.value_lifetime = plain ? ValueLifetime::persistent : ValueLifetime::per_call;
        if (!plain) problem.epilogue = everything;
        const Case c(csr, problem, seed);
        for (const NamedDevice& on : devices_of_turn(subject.devices, turn))
          subject.check(on, c, subject.default_config(on, c));
        ++turn;
      }
}

/// A choice for several n, the case's among them.
template <class Case>
void check_choice(const Subject<Case>& subject, Case c, const ops::SizeRange& sizes, sparse::Random& random) {
  c.sizes = sizes;
  for (const NamedDevice& on : devices_of_turn(subject.devices, static_cast<std::size_t>(c.problem().n))) {
    subject.check(on, c, subject.default_config(on, c));
    subject.check(on, c, subject.random_config(on, c, random));
  }
}

}  // namespace vostok::test
