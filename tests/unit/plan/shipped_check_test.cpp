#include <doctest/doctest.h>

#include "plan/features.hpp"
#include "plan/make_plan.hpp"
#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::Fixture;

namespace {

/// A choice from another model of GPU, and a device on which it takes `stored_us` where the default takes `default_us`.
struct Checking {
  Checking(double stored_us, double default_us, bool check = true, Provenance provenance = Provenance::nearest_device)
      : session(fixture.session(Options{.check_shipped = check})), planner(std::make_shared<plan::Planner>(session)) {
    topology = Fixture::topology(session, sparse::uniform(64, 64, 0.8, 1));
    const SpmmPlan standard(make_plan(*planner, Spmm{.n = 64}, topology, {.effort = Effort::heuristic}));
    default_config = stored_config = standard.config();
    stored_config["prefetch_sparse"] = default_config.at("prefetch_sparse") == "true" ? "false" : "true";
    fixture.tuning->matches = {{.winner = {.family = standard.family(), .config = stored_config, .median_us = 2},
                                .device = {.name = "another GPU"},
                                .provenance = provenance,
                                .distance = provenance == Provenance::tuned_elsewhere ? 0 : 0.5}};
    const std::string default_code = standard.state()->choices.front().launches.front().request().expression;
    fixture.device->cost_us = [=](int launch) { return launch == 0 ? default_us : stored_us; };
    fixture.device->on_launch = [this, default_code](const test::FakeKernel& kernel) {
      fixture.device->note(kernel.code == default_code ? 0 : 1);
    };
  }

  /// Of the stored choice's code: found by a plan that is not checked.
  std::string stored_digest() {
    const auto other = std::make_shared<plan::Planner>(fixture.session());
    const Topology same = Fixture::topology(other->session(), sparse::uniform(64, 64, 0.8, 1));
    return SpmmPlan(make_plan(*other, Spmm{.n = 64}, same, {})).state()->choices.front().decision->code_digest();
  }
  SpmmPlan plan() { return SpmmPlan(make_plan(*planner, Spmm{.n = 64}, topology, {})); }

  Fixture fixture;
  std::shared_ptr<plan::Session> session;
  std::shared_ptr<plan::Planner> planner;
  Topology topology;
  FieldMap default_config;
  FieldMap stored_config;
};

}  // namespace

TEST_CASE("a choice of another model that loses to the default here is demoted, and the finding is kept") {
  Checking checking(30, 20);
  const SpmmPlan plan = checking.plan();
  CHECK(plan.config() == checking.default_config);
  CHECK(plan.provenance() == Provenance::tuned_here);
  CHECK(plan.explain().note.find("30.00 us, the default 20.00 us") != std::string::npos);
  REQUIRE(checking.fixture.tuning->winners.size() == 1);
  const plan::WinnerRecord& kept = checking.fixture.tuning->winners.front();
  CHECK(kept.config == checking.default_config);
  CHECK(kept.median_us == 20);
  CHECK(kept.default_median_us == 20);
  CHECK(kept.effort == Effort::cached);  // so that quick and full still tune
  CHECK(kept.code_digest == plan.state()->choices.front().decision->code_digest());
}

TEST_CASE("a choice of another model that wins here is used and kept, a tie included") {
  for (const double stored_us : {10.0, 20.2}) {
    CAPTURE(stored_us);
    Checking checking(stored_us, 20);
    CHECK(checking.plan().config() == checking.stored_config);
    REQUIRE(checking.fixture.tuning->winners.size() == 1);
    CHECK(checking.fixture.tuning->winners.front().config == checking.stored_config);
    CHECK(checking.fixture.tuning->winners.front().median_us == stored_us);
  }
}

TEST_CASE("the check takes two milliseconds of the device at most, and says where that is too short") {
  for (const double us : {0.5, 20.0, 150.0, 400.0, 900.0, 5000.0}) {
    CAPTURE(us);
    Checking checking(us, 2 * us);
    double spent_us = 0;
    const auto cost_us = checking.fixture.device->cost_us;
    checking.fixture.device->cost_us = [&](int launch) {
      spent_us += cost_us(launch);
      return cost_us(launch);
    };
    const SpmmPlan plan = checking.plan();
    CHECK(plan.config() == checking.stored_config);
    const bool decided = checking.fixture.tuning->winners.size() == 1;
    CHECK(decided == (us <= 150));
    CHECK((plan.explain().note.find("not checked") != std::string::npos) == !decided);
    if (us <= 400) CHECK(spent_us <= 2000);
  }
}

TEST_CASE("the check runs once in a process, and only for choices of another model where it was asked for") {
  Checking once(30, 20);
  once.plan();
  const int replays = once.fixture.device->replays;
  CHECK(replays > 0);
  once.plan();
  CHECK(once.fixture.device->replays == replays);
  CHECK(once.fixture.tuning->winners.size() == 1);

  Checking not_asked(30, 20, false);
  CHECK(not_asked.plan().config() == not_asked.stored_config);
  CHECK(not_asked.fixture.device->replays == 0);

  Checking same_model(30, 20, true, Provenance::tuned_elsewhere);
  CHECK(same_model.plan().config() == same_model.stored_config);
  CHECK(same_model.fixture.device->replays == 0);
}

TEST_CASE("code that failed elsewhere is not run for the check: the default serves") {
  Checking checking(10, 20);
  const std::string digest = checking.stored_digest();
  checking.fixture.tuning->standings[digest] = {.failure = "faulted", .reason = "an address past the end"};
  const SpmmPlan plan = checking.plan();
  CHECK(plan.config() == checking.default_config);
  CHECK(plan.explain().note.find("an address past the end") != std::string::npos);
  CHECK(checking.fixture.device->replays == 0);
  CHECK(checking.fixture.tuning->winners.empty());
}
