#include "plan/predicted_choice.hpp"

#include <doctest/doctest.h>

#include "ops/sddmm/problem.hpp"
#include "ops/spmm/problem.hpp"
#include "plan/features.hpp"
#include "plan/fused_attention.hpp"
#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::Fixture;

namespace {

struct Planning {
  Fixture fixture;
  std::shared_ptr<plan::Session> session = fixture.session();
  std::shared_ptr<plan::Planner> planner = std::make_shared<plan::Planner>(session);
  Topology topology = Fixture::topology(session, sparse::uniform(256, 128, 0.8, 1));

  /// The heuristic's choice and what the key alone gives are the same.
  template <class Problem>
  void check(const Problem& problem) {
    const Plan<Problem> plan(make_plan(*planner, problem, topology, {.effort = Effort::heuristic}));
    const plan::ProblemKey key = plan::problem_key(*plan.state()->choices.front().query);
    CAPTURE(key.exact);
    const auto [family, config] =
        plan::predicted_choice(key, *fixture.device).value_or(std::pair<std::string, FieldMap>());
    CHECK(family == plan.family());
    CHECK(config == plan.config());
  }
};

}  // namespace

TEST_CASE("a key alone gives the choice that the cost model makes for its problem") {
  Planning planning;
  planning.check(Spmm{.n = 64});
  planning.check(Spmm{.n = 1, .element = Dtype::f16, .output = Dtype::f32});
  planning.check(
      Spmm{.n = 96, .element = Dtype::bf16, .epilogue = {.bias = Bias::per_row, .activation = Activation::relu}});
  planning.check(Spmm{.n = 33, .alignment_bytes = 4, .value_lifetime = ValueLifetime::persistent});
  planning.check(Spmm{.n = 64, .dense_layout = Layout::column_major, .math = Math::strict});
  planning.check(Sddmm{.n = 64});
  planning.check(Softmax{.element = Dtype::f16});
  planning.check(FusedAttention{{.n = 64, .batch = 4, .element = Dtype::f16}});
  planning.check(FusedAttention{{.n = 128, .batch = 4, .element = Dtype::f16, .causal = true}});
  planning.check(FusedAttention{{.n = 128, .batch = 4, .causal = true, .biased = true}});
  planning.check(FusedAttentionBackward{{.n = 64, .batch = 4, .element = Dtype::bf16}});
}

TEST_CASE("a key alone gives a query whose kernels read the problem's type of column indices") {
  Planning planning;
  const auto reads = [&](const auto& problem) {
    const Plan<std::remove_cvref_t<decltype(problem)>> plan(
        make_plan(*planning.planner, problem, planning.topology, {.effort = Effort::heuristic}));
    const auto& planned = plan.state()->choices.front().query;
    const auto query = plan::query_of(plan::problem_key(*planned), *planning.fixture.device);
    REQUIRE(query != nullptr);
    CHECK(query->index == planned->index);
    return query->index;
  };
  CHECK(reads(Spmm{.n = 64}) == IndexType::u16);
  CHECK(reads(Sddmm{.n = 64, .index = IndexType::i32}) == IndexType::i32);
  CHECK(reads(FusedAttention{{.n = 64, .element = Dtype::f16}}) == IndexType::u16);
  CHECK(reads(FusedAttention{{.n = 64, .element = Dtype::f16, .index = IndexType::i32}}) == IndexType::i32);
}

TEST_CASE("a key of another version gives nothing") {
  const test::FakeDevice device;
  const plan::Features features = {.m = 64, .k = 64, .n = 8, .nonzeros = 500, .longest_row = 10};
  CHECK(plan::predicted_choice({.operation = "spmm", .exact = "element=f32", .features = features}, device));
  for (const char* exact : {"element=f8", "colour=red", "not a map", "element=f32 family=of_the_future"}) {
    CAPTURE(exact);
    CHECK(!plan::predicted_choice({.operation = "spmm", .exact = exact, .features = features}, device));
  }
  CHECK(!plan::predicted_choice({.operation = "fft", .exact = "element=f32", .features = features}, device));
}
