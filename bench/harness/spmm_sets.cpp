#include "bench/harness/spmm_sets.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "bench/harness/regret.hpp"

namespace vostok::bench {

namespace {

// The numbers below are pairs of a floor and a stretch from the table "Speed to reach".

/// A generated mask with the name that baseline files use, so that its times there are found.
Problem made(const std::string& set, std::int64_t rows, std::int64_t cols, double sparsity, std::int64_t n,
             double row_variation = 0) {
  std::string file = fmt::format("{}/{:.3f}/{}x{}", set, sparsity, rows, cols);
  if (row_variation > 0) file += fmt::format("/cov={:.2f}", row_variation);
  return {.file = file,
          .n = n,
          .generated = Generated{.rows = rows, .cols = cols, .sparsity = sparsity, .row_variation = row_variation}};
}

/// A layer of a large language model, 8192 x 8192. Problems of one matrix are consecutive.
std::vector<Problem> llm(const std::string& set, const std::vector<double>& sparsities,
                         const std::vector<std::int64_t>& sizes) {
  constexpr std::int64_t width = 8192;
  constexpr double row_variation = 0.1;
  std::vector<Problem> problems;
  for (const double sparsity : sparsities)
    for (const std::int64_t n : sizes) problems.push_back(made(set, width, width, sparsity, n, row_variation));
  return problems;
}

/// States of 1024 to 8192, with one, three or four gates.
std::vector<Problem> rnn() {
  std::vector<Problem> problems;
  for (const std::int64_t states : {1024, 2048, 4096, 8192})
    for (const std::int64_t gates : {1, 3, 4})
      for (const double sparsity : {0.7, 0.8, 0.9})
        for (const std::int64_t n : {32, 128}) problems.push_back(made("rnn", gates * states, states, sparsity, n));
  return problems;
}

/// Element masks of attention over 12,288 tokens: its sampled product has n as the inner size.
std::vector<Problem> attention() {
  constexpr std::int64_t tokens = 12288;
  constexpr double row_variation = 0.3;
  std::vector<Problem> problems;
  for (const std::int64_t n : {64, 128})
    for (const double sparsity : {0.9, 0.95, 0.98})
      problems.push_back(made("attention", tokens, tokens, sparsity, n, row_variation));
  return problems;
}

std::vector<Problem> crossover() {
  std::vector<Problem> problems;
  for (const double sparsity : {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95})
    problems.push_back(made("crossover", 8192, 2048, sparsity, 128));
  return problems;
}

/// Increasing variation of row lengths, the purpose of the paper's row swizzle (V-C).
std::vector<Problem> row_variation() {
  std::vector<Problem> problems;
  for (const double variation : {0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0})
    problems.push_back(made("row_variation", 8192, 2048, 0.75, 128, variation));
  return problems;
}

/// Adds the targets of every set: the cost of packing, and the regret of not measuring.
std::vector<Target> with_common(std::vector<Target> targets) {
  targets.push_back({.of = "all problems", .measure = Measure::pack_calls, .floor = 3, .stretch = 1.5});
  targets.push_back({.of = "all problems", .measure = Measure::regret, .floor = most_regret});
  return targets;
}

std::vector<Target> dlmc_targets(const SpmmRun& run) {
  if (run.element == Dtype::f16)
    return with_common({{.of = "all problems", .other = better_sparse_peer, .floor = 2.0, .stretch = 2.5}});
  if (run.element != Dtype::f32) return with_common({});
  if (run.math == Math::strict)
    return with_common({{.of = "all problems", .other = better_sparse_peer, .floor = 1.15, .stretch = 1.3}});
  return with_common({{.of = "all problems", .other = better_sparse_peer, .floor = 2.0, .stretch = 2.5, .each = true},
                      {.of = "all problems", .other = "cublas_sgemm", .floor = 2.2, .stretch = 2.7, .each = true},
                      {.of = "row CoV above 0.8, where cuSPARSE takes 6 us and more",
                       .other = better_sparse_peer,
                       .where = {.least_row_variation = 0.8, .least_us = 6, .timed = "cusparse"},
                       .floor = 1.2,
                       .stretch = 1.5}});
}

std::vector<Target> llm_targets(const SpmmRun& run) {
  if (run.element != Dtype::f32) return with_common({});
  const auto at = [](std::int64_t n, double floor_us, double stretch_us) {
    return Target{.of = fmt::format("8192x8192 at 90 %, n = {}", n),
                  .measure = Measure::time_us,
                  .where = {.least_n = n, .most_n = n, .least_sparsity = 0.9, .most_sparsity = 0.9},
                  .floor = floor_us,
                  .stretch = stretch_us};
  };
  return with_common({at(32, 32, 28), at(256, 140, 125), at(4096, 2200, 2050)});
}

/// Bounds at 50, 70, 80 and 90 % zeros.
struct TokenBounds {
  std::int64_t least_n, most_n;
  double floors[4], stretches[4];
};
constexpr double token_sparsities[] = {0.5, 0.7, 0.8, 0.9};
constexpr TokenBounds token_bounds[] = {
    {1, 4, {1.15, 1.5, 2, 3}, {1.3, 1.9, 2.5, 4}},
    {8, 16, {1.15, 1.5, 1.9, 2.5}, {1.25, 1.7, 2.3, 3}},
    {32, 64, {1.0, 1.3, 1.5, 1.6}, {1.05, 1.4, 1.7, 2}},
};

std::string dense_peer(Dtype element) {
  return element == Dtype::f32 ? "cublas_sgemm" : fmt::format("cublas_{}", name(element));
}

std::vector<Target> token_targets(const SpmmRun& run) {
  std::vector<Target> targets;
  for (const TokenBounds& bounds : token_bounds)
    for (std::size_t i = 0; i < std::size(token_sparsities); ++i)
      targets.push_back({.of = fmt::format("n = {} to {} at {:.0f} %, weights rotated", bounds.least_n, bounds.most_n,
                                           100 * token_sparsities[i]),
                         .other = dense_peer(run.element),
                         .where = {.least_n = bounds.least_n,
                                   .most_n = bounds.most_n,
                                   .least_sparsity = token_sparsities[i],
                                   .most_sparsity = token_sparsities[i]},
                         .floor = bounds.floors[i],
                         .stretch = bounds.stretches[i]});
  return with_common(std::move(targets));
}

std::vector<Target> wide_targets(const SpmmRun& run) {
  const std::string other = dense_peer(run.element);
  return with_common({{.of = "n of 256 and more, below 96 %",
                       .other = other,
                       .where = {.least_n = 256, .most_sparsity = 0.955},
                       .floor = 0.8,
                       .stretch = 0.95},
                      {.of = "n of 256 and more, from 97 %",
                       .other = other,
                       .where = {.least_n = 256, .least_sparsity = 0.97},
                       .floor = 1.1,
                       .stretch = 1.2}});
}

std::vector<Target> crossover_targets(const SpmmRun& run) {
  if (run.element != Dtype::f32) return with_common({});
  return with_common(
      {{.of = "70 to 95 %",
        .measure = Measure::time_us,
        .where = {.least_sparsity = 0.7, .most_sparsity = 0.95},
        .floor = 26,
        .stretch = 22},
       {.of = "every sparsity from 0", .measure = Measure::least_ratio, .other = "cublas_sgemm", .floor = 1},
       {.of = "every sparsity from 0", .measure = Measure::least_ratio, .other = "cublas_f16x3", .stretch = 1}});
}

std::vector<Target> rnn_targets(const SpmmRun& run) {
  if (run.element != Dtype::f32) return with_common({});
  return with_common({{.of = "all problems", .other = better_sparse_peer, .floor = 2.2, .stretch = 3},
                      {.of = "all problems", .measure = Measure::least_ratio, .other = "cublas_sgemm", .floor = 1},
                      {.of = "90 %", .other = "cublas_tf32", .where = {.least_sparsity = 0.9}, .floor = 1.4}});
}

/// One target: the better sparse peer's time over ours.
std::function<std::vector<Target>(const SpmmRun&)> against_sparse(double floor, double stretch) {
  return [floor, stretch](const SpmmRun&) {
    return with_common({{.of = "all problems", .other = better_sparse_peer, .floor = floor, .stretch = stretch}});
  };
}

std::vector<SpmmSet> make_sets() {
  return {{.name = "dlmc", .what = "the problem list", .targets = dlmc_targets},
          {.name = "llm",
           .what = "8192x8192 at 90 %, few to many columns",
           .problems = llm("llm", {0.9}, {32, 256, 4096}),
           .targets = llm_targets},
          {.name = "llm_tokens",
           .what = "8192x8192 in f16, 1 to 64 columns, the weights not in the cache",
           .problems = llm("llm", {std::begin(token_sparsities), std::end(token_sparsities)}, {1, 2, 4, 8, 16, 32, 64}),
           .element = Dtype::f16,
           .policy = Policy::cold,
           .peers = {"cublas"},
           .targets = token_targets},
          {.name = "llm_wide",
           .what = "8192x8192 in 16 bits, 256 columns and more",
           .problems = llm("llm", {0.9, 0.95, 0.97, 0.98}, {256, 1024, 4096}),
           .element = Dtype::f16,
           .peers = {"cublas"},
           .targets = wide_targets},
          {.name = "crossover",
           .what = "8192x2048, 128 columns, full to 95 % zeros",
           .problems = crossover(),
           .targets = crossover_targets},
          {.name = "attention",
           .what = "masks of 12,288 x 12,288, heads of 64 and 128",
           .problems = attention(),
           .targets = [](const SpmmRun&) { return with_common({}); }},
          {.name = "rnn",
           .what = "1024 to 8192 states, one, three and four gates",
           .problems = rnn(),
           .targets = rnn_targets},
          {.name = "row_variation",
           .what = "8192x2048, 128 columns, 75 % zeros, row lengths with a coefficient of variation of 0 to 2",
           .problems = row_variation(),
           .targets = [](const SpmmRun&) { return with_common({}); }},
          {.name = "power_law",
           .what = "graphs of a million nonzeros",
           .problems = power_law_problems(),
           .peers = {"cusparse"},
           .targets = against_sparse(1.2, 1.5)}};
}

}  // namespace

const std::vector<SpmmSet>& spmm_sets() {
  static const std::vector<SpmmSet> sets = make_sets();
  return sets;
}

const SpmmSet& find_spmm_set(const std::string& name) {
  const auto& sets = spmm_sets();
  const auto position = std::find_if(sets.begin(), sets.end(), [&](const SpmmSet& set) { return set.name == name; });
  if (position != sets.end()) return *position;
  std::string names;
  for (const SpmmSet& set : sets) names += (names.empty() ? "" : ", ") + set.name;
  fail(ErrorCode::invalid_argument, "cannot run the set \"{}\": there are {}", name, names);
}

}  // namespace vostok::bench
