#include "compile/sweep_queries.hpp"
#include "ops/attention/problem.hpp"

namespace vostok::test {

namespace {

constexpr TopologyStatistics mask = {.rows = 4096,
                                     .cols = 4096,
                                     .nonzeros = std::int64_t{4096} * 400,
                                     .longest_row = 900,
                                     .mean_row = 400,
                                     .row_variation = 0.4};

}  // namespace

SweepQueries attention_queries() {
  TopologyStatistics wide = mask;
  wide.cols = 100'000;
  SweepQueries list;
  const auto add = [&](const SparseAttention& problem, const TopologyStatistics& of) {
    list.push_back(ops::make_query(problem, of, nullptr));
  };
  for (const std::int64_t n : {64, 128}) add({.n = n, .batch = 8, .element = Dtype::bf16}, mask);
  add({.n = 256, .batch = 2, .element = Dtype::f16, .saved = Saved::row_statistics}, mask);
  add({.n = 40, .value_size = 24, .element = Dtype::f16}, mask);
  add({.n = 16, .value_size = 200, .element = Dtype::bf16, .saved = Saved::row_statistics}, wide);
  add({.n = 128, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true}, mask);
  add({.n = 128, .batch = 8, .key_heads = 2, .math = Math::tf32, .saved = Saved::row_statistics}, mask);
  add({.n = 128, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true, .biased = true},
      mask);
  add({.n = 128, .batch = 8, .element = Dtype::bf16, .saved = Saved::row_statistics, .dropped = true}, mask);
  add({.n = 64, .batch = 8, .key_heads = 2, .element = Dtype::f16, .capped = true, .causal = true, .dropped = true},
      mask);
  add({.n = 64, .batch = 8, .element = Dtype::bf16, .saved = Saved::row_statistics, .biased = true, .dropped = true},
      mask);
  TopologyStatistics one = mask;
  one.rows = 1;
  one.nonzeros = one.longest_row = 900;
  one.mean_row = 900;
  add({.n = 128, .batch = 32, .element = Dtype::bf16}, one);
  add({.n = 64, .batch = 8, .math = Math::tf32, .capped = true, .causal = true, .biased = true, .dropped = true}, mask);
  return list;
}

SweepQueries attention_backward_queries() {
  TopologyStatistics wide = mask;
  wide.cols = 100'000;
  SweepQueries list;
  const auto add = [&](const SparseAttention& forward, const TopologyStatistics& of) {
    list.push_back(ops::make_query(SparseAttentionBackward{.forward = forward}, of, nullptr));
  };
  for (const std::int64_t n : {64, 128}) add({.n = n, .batch = 8, .element = Dtype::bf16}, mask);
  add({.n = 40, .value_size = 24, .element = Dtype::f16, .saved = Saved::row_statistics}, mask);
  add({.n = 16, .value_size = 200, .element = Dtype::bf16}, wide);
  add({.n = 128, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true}, mask);
  add({.n = 64, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true, .biased = true},
      mask);
  add({.n = 64, .batch = 8, .key_heads = 2, .element = Dtype::f16, .capped = true, .causal = true, .dropped = true},
      mask);
  add({.n = 64, .batch = 8, .element = Dtype::bf16, .saved = Saved::row_statistics, .biased = true, .dropped = true},
      mask);
  add({.n = 48, .batch = 8, .key_heads = 2, .saved = Saved::row_statistics}, mask);
  add({.n = 128, .batch = 8, .math = Math::tf32, .saved = Saved::row_statistics, .dropped = true}, mask);
  return list;
}

}  // namespace vostok::test
