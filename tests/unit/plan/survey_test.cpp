#include "plan/survey.hpp"

#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::code_of;
using test::Fixture;

namespace {

/// Plans and surveys one problem on sessions that share their stores.
struct Surveying {
  Fixture fixture;
  sparse::Csr mask = sparse::uniform(64, 48, 0.8, 1);

  template <class Problem>
  plan::Survey survey(const Problem& problem, const Options& options = {.compile = CompilePolicy::never},
                      const PlanOptions& how = {}) {
    const auto session = fixture.session(options);
    const Topology topology = Fixture::topology(session, mask);
    return plan::survey(session,
                        [&](const plan::Planner& planner) { plan::make_plan(planner, problem, topology, how); });
  }
  template <class Problem>
  AnyPlan plan(const Problem& problem, const Options& options = {}, const PlanOptions& how = {}) {
    const auto session = fixture.session(options);
    const auto planner = std::make_shared<plan::Planner>(session);
    return Plan<Problem>(plan::make_plan(*planner, problem, Fixture::topology(session, mask), how));
  }
};

plan::WinnerMatch match_of(const FieldMap& config, double distance, Provenance provenance) {
  return {.winner = {.family = "row_tile", .config = config, .median_us = 2},
          .provenance = provenance,
          .distance = distance};
}

}  // namespace

TEST_CASE("a survey names every kernel that a plan lacks, and none once they are stored, and compiles nothing itself") {
  Surveying surveying;
  const Spmm problem{.n_values = {8, 64}};
  const plan::Survey before = surveying.survey(problem);
  CHECK(before.choices.size() == 4);
  CHECK(before.missing_kernels().size() >= 2);
  CHECK(before.missing_choices().size() == 4);
  CHECK(surveying.fixture.device->fake_compiler.compiles == 0);
  surveying.plan(problem);
  const plan::Survey after = surveying.survey(problem);
  CHECK(after.missing_kernels().empty());
  CHECK(after.choices.size() == 4);
  CHECK(after.choices.front().kernels.front().stored);
}

TEST_CASE("a survey of a composed plan has the choices of every step") {
  Surveying surveying;
  const plan::Survey survey = surveying.survey(SparseAttention{.n = 16});
  REQUIRE(survey.choices.size() == 3);
  CHECK(survey.choices[0].words().starts_with("sddmm m 64 k 48 n 16"));
  CHECK(survey.choices[1].words().starts_with("softmax"));
  CHECK(survey.choices[2].words().starts_with("spmm"));
  CHECK(survey.missing_kernels().size() >= 3);
}

TEST_CASE("a survey of a transposed product takes the transpose's statistics, and says which form cannot be made") {
  Surveying surveying;
  const plan::Survey survey = surveying.survey(Spmm{.n = 16, .sparse_transposed = true});
  REQUIRE(survey.choices.size() == 1);
  CHECK(survey.choices[0].words().starts_with("spmm m 48 k 64 n 16"));
  REQUIRE_FALSE(survey.missing_forms.empty());
  CHECK(survey.missing_forms.front().find("vostok::") != std::string::npos);
}

TEST_CASE("a survey names the kernel that packs new values until it is stored, whatever format the plan reads") {
  const Spmm problem{.n = 64, .value_lifetime = ValueLifetime::persistent};
  for (const char* family : {"row_tile", "unpack_mma"}) {
    CAPTURE(std::string(family));
    Surveying surveying;
    const PlanOptions only{.family = family};
    const plan::Survey before = surveying.survey(problem, {.compile = CompilePolicy::never}, only);
    REQUIRE(before.packing.size() == 1);
    CHECK_FALSE(before.packs_without_compiler());
    CHECK(before.missing_kernels().back() == before.packing.front().expression);

    const SpmmPlan plan(surveying.plan(problem, {}, only).state());
    const std::vector<float> values(static_cast<std::size_t>(surveying.mask.nonzeros()), 1.0F);
    plan.pack(nullptr, values.data());
    const plan::Survey after = surveying.survey(problem, {.compile = CompilePolicy::never}, only);
    CHECK(after.packs_without_compiler());
    CHECK(after.plans_without_compiler());
    CHECK(after.missing_kernels().empty());
  }
  CHECK(Surveying().survey(Spmm{.n = 64}).packing.empty());
}

TEST_CASE("the error of a plan that lacks something names all of it, by what the options forbid") {
  Surveying surveying;
  const Error first(ErrorCode::missing_kernel, "the first");
  const auto words = [&](const Options& options) {
    const auto session = surveying.fixture.session(options);
    return plan::shortage(*session, surveying.survey(SparseAttention{.n = 16}, options), first);
  };
  const Error both = words({.compile = CompilePolicy::never, .cache_only = true});
  CHECK(both.code() == ErrorCode::missing_choice);
  const std::string text = both.what();
  CHECK(text.find("3 tuned choices") != std::string::npos);
  for (const char* part : {"choice: sddmm m 64", "choice: softmax m 64", "choice: spmm m 64", "kernel: vostok::"}) {
    CAPTURE(std::string(part));
    CHECK(text.find(part) != std::string::npos);
  }
  const Error kernels = words({.compile = CompilePolicy::never});
  CHECK(kernels.code() == ErrorCode::missing_kernel);
  CHECK(std::string(kernels.what()).find("choice: ") == std::string::npos);
}

TEST_CASE("cache_only takes a choice that was tuned for the problem, at every effort, and no neighbour's") {
  Surveying surveying;
  const Spmm problem{.n = 64};
  const FieldMap config = surveying.plan(problem).config();
  const Options cache_only{.cache_only = true};
  auto& matches = surveying.fixture.tuning->matches;
  CHECK(code_of([&] { surveying.plan(problem, cache_only); }) == ErrorCode::missing_choice);
  matches = {match_of(config, 0.4, Provenance::nearest_problem), match_of(config, 1, Provenance::nearest_device)};
  CHECK(code_of([&] { surveying.plan(problem, cache_only); }) == ErrorCode::missing_choice);
  matches.push_back(match_of(config, 0, Provenance::shipped));
  CHECK(surveying.plan(problem, cache_only).provenance() == Provenance::shipped);

  const auto session = surveying.fixture.session(cache_only);
  const auto planner = std::make_shared<plan::Planner>(session);
  const Topology topology = Fixture::topology(session, surveying.mask);
  for (const Effort effort : {Effort::heuristic, Effort::quick, Effort::full})
    CHECK(SpmmPlan(plan::make_plan(*planner, problem, topology, {.effort = effort})).provenance() ==
          Provenance::shipped);
  CHECK(surveying.fixture.counters->trials_measured == 0);
}
