#include <doctest/doctest.h>

#include "bench/harness/model_charts.hpp"

namespace vostok::bench {
namespace {

Json decoder_row(double sparsity, int batch, double speedup, bool verified = true) {
  return {{"sparsity", sparsity},
          {"batch", batch},
          {"max_tokens", 64},
          {"speedup", speedup},
          {"dense", {{"linear_bytes", 12'000'000'000}}},
          {"sparse", {{"linear_bytes", 12e9 * (1 - sparsity)}, {"verified", verified}}}};
}

Json of_benchmark(const char* name, const Json& problem, const Json& rows) {
  return {
      {"benchmark", name},  {"commit", "abc123"}, {"date", "2026-11-25T01:02:03Z"}, {"device", {{"name", "some GPU"}}},
      {"problem", problem}, {"rows", rows}};
}

Json decoder(const Json& rows) {
  return of_benchmark("decoder", {{"element", "bf16"}, {"layers", 32}, {"hidden", 4096}, {"context", 1024}}, rows);
}

TEST_CASE("a decoder's charts have a line for each batch and the dense model") {
  const std::vector<NamedChart> charts = model_charts(
      "decoder_gpu", decoder({decoder_row(.5, 64, 1.0), decoder_row(.5, 1, 1.2), decoder_row(.9, 1, 2.5)}));
  REQUIRE(charts.size() == 2);
  CHECK(charts[0].name == "decoder_gpu_speed");
  const Chart& speed = charts[0].chart;
  CHECK(speed.title == "32 layers of 4096, bf16: tokens/s over the dense model's");
  CHECK(speed.note == "some GPU, 2026-11-25, 1024 tokens of context, CUDA graphs, commit abc123");
  REQUIRE(speed.series.size() == 3);
  CHECK(speed.series[0].name == "batch 1");
  CHECK(speed.series[0].points == std::vector<std::pair<double, double>>{{50, 1.2}, {90, 2.5}});
  CHECK(speed.series[1].name == "batch 64");
  CHECK(speed.series[2].name == "dense");
  CHECK(speed.series[2].points.front().second == 1);
  CHECK(charts[1].name == "decoder_gpu_memory");
  const Chart& memory = charts[1].chart;
  CHECK(memory.series[0].points.front() == std::pair<double, double>{50, 6});
  CHECK(memory.series[1].points.front() == std::pair<double, double>{50, 12});
}

TEST_CASE("a decoder's memory has a line for each format that its rows read") {
  Json rows = Json::array(
      {decoder_row(.9, 1, 2.5), decoder_row(.9, 8, 1.5), decoder_row(.9, 64, 1.1), decoder_row(.5, 1, 1.2)});
  for (Json& row : rows) {
    row["few_tokens"] = 1;
    row["sparse"]["read_bytes"] = row["batch"] == 1 ? 1e9 : 3e9;
  }
  const std::vector<Series> series = model_charts("d", decoder(rows))[1].chart.series;
  REQUIRE(series.size() == 3);
  CHECK(series[0].name == "packed for up to 1");
  CHECK(series[0].points == std::vector<std::pair<double, double>>{{50, 1}, {90, 1}});
  CHECK(series[1].name == "packed for up to 64");
  CHECK(series[1].points == std::vector<std::pair<double, double>>{{90, 3}});
  CHECK(series[2].name == "dense");
}

TEST_CASE("a decoder's row that was wrong is not drawn") {
  const std::vector<NamedChart> charts =
      model_charts("d", decoder({decoder_row(.5, 1, 1.2), decoder_row(.7, 1, 9, false)}));
  CHECK(charts[0].chart.series[0].points.size() == 1);
  CHECK(charts[1].chart.series[0].points.size() == 1);
}

TEST_CASE("the losses of a training are drawn beside its twin's with the time of a step") {
  const Json row = {{"sparse", {{"median_us", 1500}}},
                    {"dense", {{"median_us", 4000}}},
                    {"curves", {{"sparse", {{1, .5}, {2, .25}}}, {"masked dense", {{1, .5}, {2, .26}}}}}};
  const std::vector<NamedChart> charts = model_charts(
      "rigl_gpu", of_benchmark("rigl", {{"element", "f32"}, {"hidden", 64}, {"sparsity", .9}}, Json::array({row})));
  REQUIRE(charts.size() == 1);
  CHECK(charts[0].name == "rigl_gpu_losses");
  CHECK(charts[0].chart.note == "some GPU, 2026-11-25, a step 1.50 ms, masked dense 4.00 ms, commit abc123");
  REQUIRE(charts[0].chart.series.size() == 2);
  CHECK(charts[0].chart.series[0].name == "masked dense");
  CHECK(charts[0].chart.series[0].points.size() == 2);
  CHECK(charts[0].chart.series[1].points == std::vector<std::pair<double, double>>{{1, .5}, {2, .25}});
}

TEST_CASE("a note leaves out a commit that is not known") {
  Json results = decoder(Json::array());
  results["commit"] = nullptr;
  CHECK(note_of(results, "warm") == "some GPU, 2026-11-25, warm");
}

TEST_CASE("results of other benchmarks have no charts of models") {
  CHECK(model_charts("s", of_benchmark("spmm", {}, {})).empty());
}

}  // namespace
}  // namespace vostok::bench
