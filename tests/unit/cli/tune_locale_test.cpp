// Times cross the border between a worker and an application that has set a locale, and keep their digits.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "base/temporary_folder.hpp"
#include "context_state.hpp"
#include "ops/conv/problem.hpp"
#include "plan/features.hpp"
#include "unit/decimal_comma.hpp"

using namespace vostok;

TEST_CASE("an application with a decimal comma stores what its worker measured with all digits") {
  const test::DecimalComma locale;
  if (!locale.in_c())
    MESSAGE("skipped: the part with a C locale, of which none with a decimal comma is there or can be made");
  const TemporaryFolder folder;
  const Context context({.device = "emulator",
                         .cache = {.folder = folder / "cache", .shipped = folder / "none"},
                         .log = [](LogLevel, std::string_view) {},
                         .worker = {.tool = VOSTOK_TOOL}});
  const BiasActivation problem{.rows = 8, .columns = 48, .bias = Bias::per_column};
  context.plan(problem, {.effort = Effort::quick, .budget_seconds = 600});

  const plan::Session& session = *context.state()->session;
  const auto query = ops::make_query(problem, {}, {0, 0}, &session.device());
  int measured = 0;
  int whole = 0;
  for (const plan::TrialRecord& trial : session.tuning().trials(plan::problem_key(*query), session.device_key())) {
    if (!trial.median_us) continue;
    CHECK(*trial.median_us > 0);
    ++measured;
    whole += *trial.median_us == std::floor(*trial.median_us);  // one in a thousand is, to the nanosecond
  }
  CHECK(measured >= 2);
  CHECK(whole <= measured / 4);
}
