#include "ops/attention/problem.hpp"

#include <doctest/doctest.h>

#include <string>

#include "contains.hpp"
#include "ops/families.hpp"

using namespace vostok;

namespace {

const TopologyStatistics mask{.rows = 640, .cols = 640, .nonzeros = 10'100, .longest_row = 90, .mean_row = 16};
const SparseAttention usual{.n = 64, .batch = 8, .element = Dtype::bf16};

std::shared_ptr<ops::AttentionQuery> query(const SparseAttention& problem) {
  return ops::make_query(problem, mask, nullptr);
}

template <class Apply>
SparseAttention changed(Apply apply) {
  SparseAttention problem = usual;
  apply(problem);
  return problem;
}

}  // namespace

TEST_CASE("attention's fields that came later leave keys from before them as they were") {
  CHECK(query(usual)->exact ==
        "alignment_bytes=16 batch=8 deterministic=true element=bf16 index=u16 math=accurate nonfinite=sparse "
        "saved=none value_size=64");
  for (const char* field : {"key_heads", "capped", "causal", "biased", "bias_stride", "dropped"})
    CHECK_FALSE(test::contains(query(usual)->identity, std::string(field) + "="));
}

TEST_CASE(
    "heads that share keys, a cap, causal queries, biases and dropout have keys of their own, beside plain "
    "attention's") {
  const auto plain = query(usual);
  const SparseAttention problems[] = {
      changed([](SparseAttention& p) { p.key_heads = 2; }), changed([](SparseAttention& p) { p.capped = true; }),
      changed([](SparseAttention& p) { p.causal = true; }), changed([](SparseAttention& p) { p.biased = true; }),
      changed([](SparseAttention& p) { p.dropped = true; })};
  for (const SparseAttention& problem : problems) {
    const auto own = query(problem);
    CHECK(own->exact != plain->exact);
    CHECK(own->identity != plain->identity);
    CHECK(own->plain == plain->exact);
  }
}

TEST_CASE("as many heads of keys as of queries are the same attention as no number of them") {
  const auto own = query(changed([](SparseAttention& p) { p.key_heads = 8; }));
  CHECK(own->exact == query(usual)->exact);
  CHECK(own->identity == query(usual)->identity);
  CHECK(ops::group_of(usual) == 1);
  CHECK(ops::group_of(changed([](SparseAttention& p) { p.key_heads = 2; })) == 4);
}
