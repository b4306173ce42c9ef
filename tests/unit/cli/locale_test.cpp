// The tool's numbers in a process whose locale has a decimal comma and grouped thousands.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/job.hpp"
#include "cli/json_text.hpp"
#include "cli/launch_watch.hpp"
#include "cli/number_option.hpp"
#include "cli/random_matrix.hpp"
#include "cli/run_options.hpp"
#include "cli/run_report.hpp"
#include "contains.hpp"
#include "unit/decimal_comma.hpp"

namespace vostok::cli {
namespace {

using test::contains;

TEST_CASE("options are read with a point, and their help shows one, whatever the locale") {
  const test::DecimalComma comma;
  if (!comma.in_c())
    MESSAGE("skipped: C's half, there is no locale with a decimal comma here and localedef makes none");
  CHECK(number_value<double>("--x", "0.5", {}) == 0.5);
  CHECK_THROWS_AS(number_value<double>("--x", "0,5", {}), CLI::ValidationError);
  CHECK(number_value<std::int64_t>("--x", "1234567", {}) == 1'234'567);
  const RandomMatrix shape = parse_random_matrix("2000x3000x0.875x0.25");
  CHECK(shape.cols == 3000);
  CHECK(shape.sparsity == 0.875);
  CHECK(shape.row_variation == 0.25);

  CLI::App app("a problem", "problem");
  RunOptions taken;
  std::string problem;
  add_operations(app, [&](const RunOptions& options, std::unique_ptr<Job> job) {
    taken = options;
    problem = job->describe({.rows = 2000, .cols = 3000}).problem;
  });
  app.parse("spmm --random 2000x3000x0.5 --n 1024 --budget 1.5 --seed 1234567 --epilogue scale=0.25,relu");
  CHECK(taken.plan.budget_seconds == 1.5);
  CHECK(taken.plan.seed == 1'234'567);
  CHECK(contains(problem, "C[2000,1024] = A[2000,3000] B[3000,1024]"));
  CHECK(contains(problem, "scale=0.25"));
  CHECK(contains(app.get_subcommand("spmm")->help(), "--budget SECONDS=30 "));
}

TEST_CASE("reports are printed with a point, and are JSON, whatever the locale") {
  const test::DecimalComma comma;
  if (!comma.in_c())
    MESSAGE("skipped: C's half, there is no locale with a decimal comma here and localedef makes none");
  RunReport report{.operation = "spmm", .compiled = 1234, .plan_ms = 12345.5, .flops = 1e6};
  report.matrix =
      MatrixReport{.source = "a.mtx", .values = sparse::ValueFacts{.count = 5, .overflows = 1, .largest = 70000.5}};
  report.matrix->statistics = {.rows = 2000, .cols = 3000, .nonzeros = 12345, .row_variation = 0.125};
  report.matrix->value_type = Dtype::f16;
  report.explanation = {.family = "row_tile"};
  report.timing = Timing{.single = {.median_us = 1234.5, .spread_us = 0.25}, .launches = 2, .replays = 7};
  report.check = {.error = 1.5e-7, .tolerance = 2.5e-7};
  const auto object = nlohmann::json::parse(report_json(report));
  CHECK(object["plan_ms"] == 12345.5);
  CHECK(object["median_us"] == 1234.5);
  CHECK(object["compiled"] == 1234);
  CHECK(object["error"] == 1.5e-7);
  const std::string text = report_text(report);
  for (const char* part : {"2000 x 3000, 12345 nonzeros", "row CoV 0.125", "12345.5 ms", "1234.50 us, spread 0.25 us",
                           "1.50e-07", "(the largest is 70000.5)"}) {
    CAPTURE(std::string(part));
    CHECK(contains(text, part));
  }
  CHECK(json_text({{"x", 0.1}}, one_line) == "{\"x\":0.1}\n");
  CHECK(contains(phase_text({.what = "measuring", .seconds = 1234, .progress = {.ended = 1}, .launches = 2}),
                 "for 1234 s: 50 % done, about 1234 s left"));
}

}  // namespace
}  // namespace vostok::cli
