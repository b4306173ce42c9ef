#include "compile/sweep_queries.hpp"
#include "ops/attention/problem.hpp"

namespace vostok::test {

SweepQueries attention_queries() {
  TopologyStatistics wide = attention_mask;
  wide.cols = 100'000;
  SweepQueries list;
  const auto add = [&](const SparseAttention& problem, const TopologyStatistics& of) {
    list.push_back(ops::make_query(problem, of, nullptr));
  };
  for (const std::int64_t n : {64, 128}) add({.n = n, .batch = 8, .element = Dtype::bf16}, attention_mask);
  add({.n = 256, .batch = 2, .element = Dtype::f16, .saved = Saved::row_statistics}, attention_mask);
  add({.n = 256, .batch = 2}, attention_mask);
  add({.n = 40, .value_size = 24, .element = Dtype::f16}, attention_mask);
  add({.n = 16, .value_size = 200, .element = Dtype::bf16, .saved = Saved::row_statistics}, wide);
  add({.n = 128, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true}, attention_mask);
  add({.n = 128, .batch = 8, .key_heads = 2, .math = Math::tf32, .saved = Saved::row_statistics}, attention_mask);
  add({.n = 128, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true, .biased = true},
      attention_mask);
  add({.n = 128, .batch = 8, .element = Dtype::bf16, .saved = Saved::row_statistics, .dropped = true}, attention_mask);
  add({.n = 64, .batch = 8, .key_heads = 2, .element = Dtype::f16, .capped = true, .causal = true, .dropped = true},
      attention_mask);
  add({.n = 64, .batch = 8, .element = Dtype::bf16, .saved = Saved::row_statistics, .biased = true, .dropped = true},
      attention_mask);
  TopologyStatistics one = attention_mask;
  one.rows = 1;
  one.nonzeros = one.longest_row = 900;
  one.mean_row = 900;
  add({.n = 128, .batch = 32, .element = Dtype::bf16}, one);
  add({.n = 64, .batch = 8, .math = Math::tf32, .capped = true, .causal = true, .biased = true, .dropped = true},
      attention_mask);
  return list;
}

SweepQueries attention_backward_queries() {
  TopologyStatistics wide = attention_mask;
  wide.cols = 100'000;
  SweepQueries list;
  const auto add = [&](const SparseAttention& forward, const TopologyStatistics& of) {
    list.push_back(ops::make_query(SparseAttentionBackward{.forward = forward}, of, nullptr));
  };
  for (const std::int64_t n : {64, 128}) add({.n = n, .batch = 8, .element = Dtype::bf16}, attention_mask);
  add({.n = 40, .value_size = 24, .element = Dtype::f16, .saved = Saved::row_statistics}, attention_mask);
  add({.n = 16, .value_size = 200, .element = Dtype::bf16}, wide);
  add({.n = 128, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true}, attention_mask);
  add({.n = 64, .batch = 8, .key_heads = 2, .element = Dtype::bf16, .capped = true, .causal = true, .biased = true},
      attention_mask);
  add({.n = 64, .batch = 8, .key_heads = 2, .element = Dtype::f16, .capped = true, .causal = true, .dropped = true},
      attention_mask);
  add({.n = 64, .batch = 8, .element = Dtype::bf16, .saved = Saved::row_statistics, .biased = true, .dropped = true},
      attention_mask);
  add({.n = 48, .batch = 8, .key_heads = 2, .saved = Saved::row_statistics}, attention_mask);
  add({.n = 256, .batch = 2, .element = Dtype::bf16, .saved = Saved::row_statistics}, attention_mask);
  add({.n = 128, .batch = 8, .math = Math::tf32, .saved = Saved::row_statistics, .dropped = true}, attention_mask);
  return list;
}

}  // namespace vostok::test
