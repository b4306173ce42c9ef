// Which code may run in an application's process.
#include "plan/vetting.hpp"
#include "abi/row_tile.h"

#include <cmath>

#include "unit/plan/fixture.hpp"

using namespace vostok;
using test::Fixture;

namespace {

const std::string digest = "code";

struct Vetted {
  explicit Vetted(FirstRun first_run)
      : session(fixture.session({.worker = {.first_run = first_run, .tool = "/nowhere/vostok"}})) {
    task.query = std::make_shared<ops::Query>(
        ops::Query{.operation = "spmm", .exact = "element=f32", .identity = "element=f32"});
  }
  tune::Admission admit(double seconds = 10) {
    return plan::Vetting(*session, task, 0, 1).admit(candidate, compiled, seconds, INFINITY);
  }
  std::optional<tune::Earlier> earlier() { return plan::Vetting(*session, task, 0, 1).earlier(candidate, compiled); }
  plan::TrialRecord trial(const std::string& status, const std::string& reason) const {
    return {.family = candidate.family,
            .config = candidate.config.to_map(),
            .code_digest = digest,
            .status = status,
            .reason = reason,
            .median_us = 5,
            .rounds = 3};
  }

  Fixture fixture;
  std::shared_ptr<plan::Session> session;
  plan::Task task;
  tune::Candidate candidate{.family = "row_tile", .config = ops::Config::of(RowTileConfig{.tile_rows = 4})};
  tune::Compiled compiled{.code_digest = digest};
};

}  // namespace

TEST_CASE("code that nobody knows is not run in an application without a worker, and it is said why") {
  Vetted vetted(FirstRun::worker);
  const tune::Admission admission = vetted.admit();
  CHECK(admission.status == "untested");
  CHECK(admission.reason.find("/nowhere/vostok") != std::string::npos);
  CHECK(Vetted(FirstRun::this_process).admit().status.empty());
}

TEST_CASE("code that passed anywhere runs in an application") {
  Vetted vetted(FirstRun::worker);
  vetted.fixture.tuning->standings[digest] = {.passed = true};
  CHECK(vetted.admit().status.empty());
}

TEST_CASE("code that failed anywhere runs nowhere, however often it passed") {
  for (const FirstRun first_run : {FirstRun::worker, FirstRun::this_process}) {
    Vetted vetted(first_run);
    vetted.fixture.tuning->standings[digest] = {.passed = true, .failure = "hung", .reason = "no answer"};
    const tune::Admission admission = vetted.admit();
    CHECK(admission.status == "banned");
    CHECK(admission.reason == "hung before: no answer");
    vetted.fixture.tuning->added = {vetted.trial("measured", "")};
    CHECK_FALSE(vetted.earlier().has_value());
  }
}

TEST_CASE("a failure on the same problem keeps its status") {
  Vetted vetted(FirstRun::worker);
  vetted.fixture.tuning->added = {vetted.trial("wrong", "error 1")};
  const tune::Admission admission = vetted.admit();
  CHECK(admission.status == "wrong");
  CHECK(admission.reason == "error 1");
}

TEST_CASE(
    "a trial of the same code is what was measured before, and says whether it was verified, unlike one of other "
    "code") {
  Vetted vetted(FirstRun::worker);
  vetted.fixture.tuning->added = {vetted.trial("measured", plan::not_verified)};
  const tune::Earlier earlier = vetted.earlier().value_or(tune::Earlier{});
  CHECK(earlier.rounds == 3);
  CHECK_FALSE(earlier.verified);
  vetted.fixture.tuning->added = {vetted.trial("measured", "")};
  CHECK(vetted.earlier().value_or(tune::Earlier{}).verified);
  vetted.compiled.code_digest = "other";
  CHECK_FALSE(vetted.earlier().has_value());
}

TEST_CASE("without time nothing but the default is asked of a worker") {
  Vetted vetted(FirstRun::worker);
  CHECK(vetted.admit(-1).status == "not_reached");
  vetted.candidate.is_default = true;
  CHECK(vetted.admit(-1).status == "untested");
}

TEST_CASE("a measured result that was not verified says so in its record") {
  tune::Result result{.status = "measured", .median_us = 2, .rounds = 3};
  CHECK(plan::to_record({}, result).reason == plan::not_verified);
  result.verified = true;
  CHECK(plan::to_record({}, result).reason.empty());
}
