#include "bench/harness/model_charts.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace vostok::bench {

namespace {

constexpr double bytes_of_gigabyte = 1e9;
constexpr std::size_t dots_over_line = 25;

using Points = std::vector<std::pair<double, double>>;

double zeros_of(const Json& row) { return 100 * row["sparsity"].get<double>(); }

bool is_right(const Json& row) { return row["sparse"].value("verified", false); }

/// A constant shared by all rows, drawn from the smallest to the largest share of zeros.
Series level(const std::string& name, double value, const Points& over) {
  Points points;
  for (const auto& [x, y] : over) points.emplace_back(x, value);
  return {.name = name, .points = points};
}

std::string decoder_title(const Json& results, const char* what) {
  const Json& problem = results["problem"];
  return fmt::format("{} layers of {}, {}: {}", problem["layers"].dump(), problem["hidden"].dump(),
                     problem["element"].get<std::string>(), what);
}

std::string decoder_note(const Json& results) {
  return note_of(results, fmt::format("{} tokens of context, CUDA graphs", results["problem"]["context"].dump()));
}

Chart decoder_speed(const Json& results) {
  std::map<double, Points> batches;
  Points all;
  for (const Json& row : results["rows"]) {
    if (!is_right(row)) continue;
    batches[row["batch"]].emplace_back(zeros_of(row), row["speedup"]);
    all.emplace_back(zeros_of(row), row["speedup"]);
  }
  Chart chart{.title = decoder_title(results, "tokens/s over the dense model's"),
              .note = decoder_note(results),
              .x = {.label = "zeros (%)"},
              .y = {.label = "tokens/s, dense = 1"}};
  for (auto& [batch, points] : batches) {
    std::sort(points.begin(), points.end());
    chart.series.push_back({.name = fmt::format("batch {:g}", batch), .points = points});
  }
  chart.series.push_back(level("dense", 1, all));
  return chart;
}

/// Gigabytes of the linear layers' weights that a call reads.
double gigabytes(const Json& side) {
  return side[side.contains("read_bytes") ? "read_bytes" : "linear_bytes"].get<double>() / bytes_of_gigabyte;
}

/// The format that a row reads.
std::string format_of(const Json& row) {
  const bool reads_few =
      row.contains("few_tokens") && row["few_tokens"].is_number() && row["batch"] <= row["few_tokens"];
  return fmt::format("packed for up to {}", row[reads_few ? "few_tokens" : "max_tokens"].dump());
}

Chart decoder_memory(const Json& results) {
  std::map<std::string, Points> formats;
  Points dense;
  for (const Json& row : results["rows"]) {
    if (!is_right(row)) continue;
    formats[format_of(row)].emplace_back(zeros_of(row), gigabytes(row["sparse"]));
    dense.emplace_back(zeros_of(row), gigabytes(row["dense"]));
  }
  Chart chart{.title = decoder_title(results, "GB of the linear layers' weights"),
              .note = decoder_note(results),
              .x = {.label = "zeros (%)"},
              .y = {.label = "weights that a step reads (GB)"}};
  for (auto& [name, points] : formats) {
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
    chart.series.push_back({.name = name, .points = points});
  }
  chart.series.push_back({.name = "dense", .points = dense});
  return chart;
}

Points points_of(const Json& curve) {
  Points points;
  for (const Json& point : curve) points.emplace_back(point[0], point[1]);
  return points;
}

/// Few enough points that the line below them stays visible.
Points thinned(const Points& points) {
  const std::size_t stride = std::max<std::size_t>(points.size() / dots_over_line, 1);
  Points kept;
  for (std::size_t i = 0; i < points.size(); i += stride) kept.push_back(points[i]);
  return kept;
}

Chart rigl_losses(const Json& results) {
  const Json &row = results["rows"][0], &problem = results["problem"];
  const auto milliseconds = [&](const char* side) { return row[side]["median_us"].get<double>() / 1e3; };
  return {.title = fmt::format("RigL, {} hidden, {:.0f} % zeros, {}", problem["hidden"].dump(), zeros_of(problem),
                               problem["element"].get<std::string>()),
          .note = note_of(results, fmt::format("a step {:.2f} ms, masked dense {:.2f} ms", milliseconds("sparse"),
                                               milliseconds("dense"))),
          .x = {.label = "step"},
          .y = {.label = "loss", .logarithmic = true},
          .series = {{.name = "masked dense", .points = points_of(row["curves"]["masked dense"])},
                     {.name = "sparse", .points = thinned(points_of(row["curves"]["sparse"])), .joined = false}}};
}

}  // namespace

std::string note_of(const Json& results, const std::string& how) {
  const Json& commit = results["commit"];
  return fmt::format("{}, {}, {}{}", results["device"]["name"].get<std::string>(),
                     results["date"].get<std::string>().substr(0, 10), how,
                     commit.is_string() ? ", commit " + commit.get<std::string>() : "");
}

std::vector<NamedChart> model_charts(const std::string& name, const Json& results) {
  if (results["benchmark"] == "decoder") {
    return {{.name = name + "_speed", .chart = decoder_speed(results)},
            {.name = name + "_memory", .chart = decoder_memory(results)}};
  }
  if (results["benchmark"] == "rigl") return {{.name = name + "_losses", .chart = rigl_losses(results)}};
  return {};
}

}  // namespace vostok::bench
