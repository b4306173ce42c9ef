#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "cli/diagnosis.hpp"
#include "cli/run_report.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli {
namespace {

using testing::contains;

RunReport sample() {
  RunReport report{.operation = "spmm"};
  report.matrix = MatrixReport{.source = "layer.smtx", .note = "pattern, symmetric, expanded"};
  report.matrix->statistics = {
      .rows = 8, .cols = 4, .nonzeros = 16, .longest_row = 3, .mean_row = 2, .row_variation = 0.25};
  report.subject = {.problem = "C[8,32] = A[8,4] B[4,32], f32, math accurate",
                    .work = "2 x nonzeros x n",
                    .fields = {{"m", std::int64_t{8}}, {"transpose", false}, {"dtype", std::string("f32")}}};
  report.device = {.name = "Some GPU",
                   .architecture = "sm_90",
                   .gpu = true,
                   .multiprocessors = 132,
                   .driver = "13.0",
                   .peak_fp32_gflops = 1000};
  report.explanation = {.family = "row_tile",
                        .config = {{"tile_rows", "4"}},
                        .provenance = Provenance::tuned_here,
                        .note = "best of 7 candidates"};
  report.compiled = 1;
  report.plan_ms = 12.5;
  report.flops = 1024;
  report.timing = Timing{.single = {.median_us = 10.24, .spread_us = 0.5}, .launches = 50, .replays = 31};
  report.check = {.error = 1e-7, .tolerance = 2e-7};
  return report;
}

TEST_CASE("a report says what ran, how fast and how right, each with its unit") {
  const std::string text = report_text(sample());
  for (const char* part :
       {"layer.smtx", "8 x 4, 16 nonzeros, 50.00 % zeros", "row CoV 0.250", "pattern, symmetric, expanded",
        "C[8,32] = A[8,4] B[4,32]", "Some GPU", "row_tile", "tile_rows=4", "tuned_here: best of 7 candidates",
        "1 compiled by this process", "12.5 ms", "10.24 us, spread 0.50 us", "31 replays of 50 launches",
        "0.1 GFLOP/s (2 x nonzeros x n)", "0.01 % of the device's fp32 peak",
        "1.00e-07 against float64, tolerance 2.00e-07", "VERIFIED"}) {
    CAPTURE(std::string(part));
    CHECK(contains(text, part));
  }
}

TEST_CASE("a wrong result says why, and is not called verified") {
  RunReport report = sample();
  report.check.wrong = "row 3 of the output holds elements that were not written";
  CHECK(contains(report_text(report), "WRONG: row 3 of the output"));
  CHECK_FALSE(contains(report_text(report), "VERIFIED"));
  CHECK(nlohmann::json::parse(report_json(report))["verified"] == false);
}

TEST_CASE("the JSON report is one object with the promised fields and types") {
  const auto object = nlohmann::json::parse(report_json(sample()));
  CHECK(object.size() == 17);
  CHECK(object["operation"] == "spmm");
  CHECK(object["device"] == "Some GPU");
  CHECK(object["gpu"] == true);
  CHECK(object["family"] == "row_tile");
  CHECK(object["config"]["tile_rows"] == "4");
  CHECK(object["provenance"] == "tuned_here");
  CHECK(object["compiled"] == 1);
  CHECK(object["plan_ms"] == 12.5);
  CHECK(object["median_us"] == 10.24);
  CHECK(object["spread_us"] == 0.5);
  CHECK(object["gflops"].get<double>() == doctest::Approx(0.1));
  CHECK(object["error"] == 1e-7);
  CHECK(object["tolerance"] == 2e-7);
  CHECK(object["verified"] == true);
  CHECK(object["m"] == 8);
  CHECK(object["transpose"] == false);
  CHECK(object["dtype"] == "f32");
}

TEST_CASE("a composed plan is reported with every step's choice") {
  RunReport report = sample();
  report.explanation = {.family = "composed"};
  CHECK(report.launches());
  report.explanation.steps = {{.note = "nothing to compute"}};
  CHECK_FALSE(report.launches());
  report.explanation.steps.push_back(
      {.operation = "softmax", .family = "row_softmax", .config = {{"warps", "4"}}, .provenance = Provenance::shipped});
  CHECK(report.launches());
  const std::string text = report_text(report);
  for (const char* part : {"composed of 2 steps", "step 1          nothing to compute",
                           "step 2          softmax row_softmax", "warps=4", "shipped"}) {
    CAPTURE(std::string(part));
    CHECK(contains(text, part));
  }
  const auto object = nlohmann::json::parse(report_json(report));
  CHECK(object["family"] == "composed");
  CHECK(object["steps"].size() == 2);
  CHECK(object["steps"][1]["operation"] == "softmax");
  CHECK(object["steps"][1]["family"] == "row_softmax");
  CHECK(object["steps"][1]["provenance"] == "shipped");
}

TEST_CASE("an operation without a matrix is reported without one") {
  RunReport report = sample();
  report.matrix.reset();
  const std::string text = report_text(report);
  CHECK(text.starts_with("problem "));
  CHECK_FALSE(contains(text, "topology"));
}

TEST_CASE("JSON holds null where a value is not finite or was not measured") {
  RunReport report = sample();
  report.timing.reset();
  report.check.error = std::numeric_limits<double>::infinity();
  report.plan_ms = std::numeric_limits<double>::quiet_NaN();
  const auto object = nlohmann::json::parse(report_json(report));
  for (const char* field : {"median_us", "spread_us", "gflops", "error", "plan_ms"}) {
    CAPTURE(std::string(field));
    CHECK(object[field].is_null());
  }
}

TEST_CASE("the share of the peak is left out where the peak is not known") {
  RunReport report = sample();
  report.device.peak_fp32_gflops = 0;
  CHECK_FALSE(contains(report_text(report), "peak"));
}

TEST_CASE("the verdict names what runs, and what keeps the rest from running") {
  Diagnosis diagnosis;
  CHECK_FALSE(diagnosis.runs());
  CHECK(contains(diagnosis.verdict(), "nothing runs here"));
  diagnosis.gpus = {{.name = "Some GPU"}};
  CHECK_FALSE(diagnosis.runs());
  CHECK(contains(diagnosis.verdict(), "Some GPU runs only kernels that a cache already holds"));
  diagnosis.emulator_compiler = "g++ 12";
  CHECK(diagnosis.runs());
  CHECK(contains(diagnosis.verdict(), "everything runs on the emulator"));
  diagnosis.findings = {{.what = "nvrtc", .where = "/opt", .state = "found", .used = true}};
  CHECK(contains(diagnosis.verdict(), "every operation runs on Some GPU and on the emulator"));
  diagnosis.gpus.clear();
  CHECK(contains(diagnosis.verdict(), "no usable GPU: every operation runs on the emulator"));
}

}  // namespace
}  // namespace vostok::cli
