// What is asked of every SpMM family that reads A as CSR, beside spmm_trials.hpp.
#pragma once

#include "device/csr_product_harness.hpp"
#include "device/random_configs.hpp"
#include "device/spmm_pairs.hpp"
#include "device/spmm_trials.hpp"

namespace vostok::test {

using CsrSubject = Subject<SpmmProduct>;

/// The default config and a random one on random shapes, strides and alignments, problems of `make(random)`. The thread
/// orders take turns.
template <class Make>
void check_random_products(const CsrSubject& subject, std::uint64_t seed, std::size_t count, Make&& make) {
  MESSAGE("seed " << seed);
  sparse::Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const SpmmProduct c = make_product(random_matrix(random), make(random), random.bits());
    for (const NamedDevice& on : devices_of_turn(subject.devices, i)) {
      const ops::SpmmQuery query = c.query(on.device.get());
      REQUIRE(subject.family.declines(query).value_or("") == "");
      REQUIRE(subject.family.forbidden(query, subject.default_config(on, c)).value_or("") == "");
      subject.check(on, c, subject.default_config(on, c));
      subject.check(on, c, subject.random_config(on, c, random));
    }
  }
}

/// Every pair of types, layouts, strides, batches, index types, alignments and epilogues; `config_of(on, product,
/// choice, i)` makes the config. The thread orders take turns. ThreadSanitizer has time for the first `most_sanitized`.
template <class ConfigOf>
void check_paired_products(const CsrSubject& subject, std::uint64_t seed, std::size_t most_sanitized,
                           ConfigOf&& config_of) {
  MESSAGE("seed " << seed);
  std::vector<PairedProblem> problems = spmm_pairs(seed);
  CHECK(problems.size() >= 30);
  if (thread_sanitized) {
    MESSAGE("skipped: all but " << most_sanitized << " of " << problems.size()
                                << " problems, which take ThreadSanitizer too long");
    problems.resize(most_sanitized);
  }
  for (std::size_t i = 0; i < problems.size(); ++i)
    for (const NamedDevice& on : devices_of_turn(subject.devices, i)) {
      PairedProblem choice = problems[i];
      ops::validate(choice.problem, sparse::statistics(choice.csr.rows, choice.csr.cols, choice.csr.row_offsets,
                                                       choice.csr.column_indices));
      if (choice.problem.math == Math::strict &&
          subject.family.declines(make_product(choice.csr, choice.problem, seed).query(on.device.get())))
        choice.problem.math = Math::accurate;
      const SpmmProduct c = make_product(choice.csr, choice.problem, seed + i);
      const ops::SpmmQuery query = c.query(on.device.get());
      REQUIRE(subject.family.declines(query).value_or("") == "");
      const ops::Config config = config_of(query, choice, i);
      REQUIRE(subject.family.forbidden(query, config).value_or("") == "");
      subject.check(on, c, config);
    }
}

/// The default config, or the last that the space admits: operands reach its kernel the other way.
inline ops::Config prepared_as(const ops::Family& family, const ops::SpmmQuery& query, const PairedProblem& choice) {
  ops::Config config = family.default_config(query);
  if (choice.other_preparation)
    for (const ops::Config& listed : family.space(query))
      if (!family.forbidden(query, listed)) config = listed;
  return config;
}

/// Matrices without rows, columns or nonzeros: what the epilogue makes of nothing.
inline std::vector<SpmmProduct> products_of_nothing(std::uint64_t seed) {
  const std::vector<sparse::Csr> matrices = {{.rows = 3, .cols = 0, .row_offsets = {0, 0, 0, 0}},
                                             {.rows = 0, .cols = 3},
                                             {.rows = 2, .cols = 5, .row_offsets = {0, 0, 0}},
                                             {.rows = 0, .cols = 0}};
  std::vector<SpmmProduct> products;
  for (const sparse::Csr& csr : matrices)
    for (const bool transposed : {false, true}) {
      Spmm problem{.n = 5,
                   .batch = 2,
                   .element = Dtype::f16,
                   .sparse_transposed = transposed,
                   .dense_layout = Layout::column_major};
      problem.epilogue = {.bias = Bias::per_column,
                          .residual = true,
                          .activation = Activation::silu,
                          .scale = Scale::device,
                          .accumulate = true};
      products.push_back(make_product(csr, problem, seed));
    }
  return products;
}

/// A batch for check_products_stay_apart.
inline SpmmProduct three_products(bool transposed, std::uint64_t seed) {
  Spmm problem{.n = 12, .batch = 3, .values_per_batch = true, .element = Dtype::bf16, .sparse_transposed = transposed};
  problem.dense_layout = Layout::column_major;
  problem.epilogue.residual = true;
  return make_product(uneven_mask(40, 90, seed), problem, seed);
}

/// Rows of B that are not finite reach the rows of A that name them, and no others; nor do values reach other rows.
/// Configs of `config_of(on, product, random, i)`.
template <class ConfigOf>
void check_leaks(const CsrSubject& subject, std::uint64_t seed, int count, ConfigOf&& config_of) {
  for (const NamedDevice& on : subject.devices) {
    sparse::Random random(seed);
    for (int i = 0; i < count; ++i) {
      const auto own = static_cast<std::uint64_t>(i);
      const SpmmProduct values = make_product(uneven_mask(40, 90, seed + own), {.n = 20}, seed);
      check_rows_stay_apart(subject, on, values, config_of(on, values, random, i));
      const SpmmProduct columns = make_product(uneven_mask(40, 90, seed + 50 + own), {.n = 12}, seed);
      check_columns_stay_apart(subject, on, columns, config_of(on, columns, random, i), true,
                               [](std::int64_t k, std::int64_t) { return k % 3 == 0; });
    }
  }
}

/// More products than the grid's second dimension holds are accumulated once each, by configs of `config_of(on,
/// product)`.
template <class ConfigOf>
void check_many_products(const CsrSubject& subject, std::uint64_t seed, ConfigOf&& config_of) {
  if (thread_sanitized) {
    MESSAGE("skipped: 65,600 blocks take ThreadSanitizer hours; the other builds run them");
    return;
  }
  const sparse::Csr csr{.rows = 1, .cols = 2, .row_offsets = {0, 1}, .column_indices = {1}};
  const NamedDevice& on = subject.devices.front();
  const SpmmProduct c = make_product(csr, {.n = 1, .batch = 65600, .epilogue = {.accumulate = true}}, seed);
  const std::vector<float> output = subject.run(on, c, config_of(on, c));
  for (std::size_t b = 0; b < output.size(); ++b)
    REQUIRE(std::fabs(output[b] - (c.host.output[b] + c.host.values[0] * c.host.dense[2 * b + 1])) < 1e-6);
}

}  // namespace vostok::test
