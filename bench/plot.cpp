// Charts of result files, as SVG: of spmm time against sparsity and n, and how much of the hardware's ceiling is
// reached; of whole models what they reach.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "base/text.hpp"
#include "bench/harness/chart.hpp"
#include "bench/harness/entry.hpp"
#include "bench/harness/json.hpp"
#include "bench/harness/model_charts.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/problems.hpp"

namespace vostok::bench {
namespace {

constexpr std::size_t least_joined = 3;  ///< points of a chart, on its horizontal axis
constexpr std::size_t least_apart = 6;

/// A result file, as far as charts are made of it.
struct Results {
  std::string name;  ///< of the file, without its end
  Json whole;

  std::string element() const { return whole["problem"].value("element", ""); }
  std::string title(const std::string& rest) const {
    return fmt::format("{} {}, {}", whole["benchmark"].get<std::string>(), element(), rest);
  }
  std::string note() const {
    return note_of(whole, whole["problem"].value("policy", "warm") == "cold" ? "weights rotated" : "warm");
  }
};

/// Microseconds of ours and of each peer's fastest way, where the output was right.
std::map<std::string, double> times_of(const Json& row) {
  std::map<std::string, double> times;
  const auto take = [&](const std::string& name, const Json& measured) {
    if (!measured.value("verified", false) || !measured.contains("median_us") || measured["median_us"].is_null())
      return;
    const double us = measured["median_us"];
    const auto [known, is_new] = times.try_emplace(name, us);
    if (!is_new) known->second = std::min(known->second, us);
  };
  take("ours", row["ours"]);
  for (const Json& peer : row["peers"])
    if (peer["name"] != heuristic_choice) take(peer["name"], peer);
  if (row.contains("baseline") && row["baseline"].contains("sputnik"))
    times.try_emplace("sputnik (stored)", row["baseline"]["sputnik"]);
  return times;
}

/// One chart for each group of rows; in a group every name is a line over x.
struct Lines {
  std::string file;  ///< what the picture is named after
  std::string title;
  std::map<std::string, std::map<double, double>> series = {};
  bool joined = true;

  std::size_t widest() const {
    std::size_t most = 0;
    for (const auto& [name, points] : series) most = std::max(most, points.size());
    return most;
  }
};

std::vector<Series> to_series(const Lines& lines) {
  std::vector<Series> all;
  all.reserve(lines.series.size());
  for (const auto& [name, points] : lines.series)
    all.push_back({.name = name, .points = {points.begin(), points.end()}, .joined = lines.joined});
  std::stable_partition(all.begin(), all.end(), [](const Series& series) { return series.name == "ours"; });
  return all;
}

std::string file_name(std::string text) {
  const auto within = [](char letter, char first, char last) { return letter >= first && letter <= last; };
  const auto stays = [&](char letter) {
    return within(letter, 'a', 'z') || within(letter, 'A', 'Z') || within(letter, '0', '9') || letter == '.';
  };
  std::replace_if(text.begin(), text.end(), [&](char letter) { return !stays(letter); }, '_');
  return text;
}

/// Rows with times.
std::vector<const Json*> measured_rows(const Results& results) {
  std::vector<const Json*> rows;
  for (const Json& row : results.whole["rows"])
    if (row.contains("ours") && !times_of(row).empty()) rows.push_back(&row);
  return rows;
}

std::vector<Chart> charts_of(const Results& results, const std::map<std::string, Lines>& groups, const Axis& x,
                             std::vector<std::string>& files) {
  std::vector<Chart> charts;
  for (const auto& [key, lines] : groups) {
    if (lines.widest() < (lines.joined ? least_joined : least_apart)) continue;
    Chart& chart = charts.emplace_back();
    chart.title = results.title(lines.title);
    chart.note = results.note();
    chart.x = x;
    chart.y.label = "time (us)";
    chart.y.logarithmic = true;
    chart.series = to_series(lines);
    files.push_back(file_name(fmt::format("{}_{}", results.name, lines.file)));
  }
  return charts;
}

std::string sizes_of(const Json& row) { return fmt::format("{}x{}", row["m"].dump(), row["k"].dump()); }

/// Made matrices differ in nothing but their sparsity and are joined by lines; files of one size differ in more and are
/// points.
std::vector<Chart> against_sparsity(const Results& results, std::vector<std::string>& files) {
  std::map<std::string, Lines> groups;
  for (const Json* row : measured_rows(results)) {
    const std::string sizes = sizes_of(*row), n = (*row)["n"].dump();
    Lines& lines = groups
                       .try_emplace(sizes + n, Lines{.file = fmt::format("{}_n{}", sizes, n),
                                                     .title = fmt::format("{}, n = {}", sizes, n)})
                       .first->second;
    lines.joined = !(*row)["file"].get<std::string>().ends_with(".smtx");
    for (const auto& [name, us] : times_of(*row)) lines.series[name][100 * (*row)["sparsity"].get<double>()] = us;
  }
  return charts_of(results, groups, {.label = "zeros (%)"}, files);
}

std::vector<Chart> against_size(const Results& results, std::vector<std::string>& files) {
  std::map<std::string, Lines> groups;
  for (const Json* row : measured_rows(results)) {
    const std::string file = (*row)["file"];
    const std::string zeros = fmt::format("{:.0f}", 100 * (*row)["sparsity"].get<double>());
    Lines& lines = groups
                       .try_emplace(file, Lines{.file = fmt::format("{}_{}", sizes_of(*row), zeros),
                                                .title = fmt::format("{}, {} % zeros", sizes_of(*row), zeros)})
                       .first->second;
    for (const auto& [name, us] : times_of(*row)) lines.series[name][(*row)["n"].get<double>()] = us;
  }
  return charts_of(results, groups, {.label = "n (columns)", .logarithmic = true}, files);
}

/// Microseconds that nothing can be below on an H200, the one GPU of which this is known: every operand once over its
/// memory at 4.3 TB/s, and what limits the family: loads of B from L1 (33 TB/s) where a thread multiplies; else a dense
/// product on tensor cores (f16 891 TFLOP/s, 1722 dense-equivalent where zeros are skipped).
double ceiling_us(const Json& row, const std::string& element) {
  constexpr double memory_bytes_us = 4.3e6, l1_bytes_us = 33e6, tensor_flops_us = 891e6,
                   sparse_tensor_flops_us = 1722e6;
  const double m = row["m"], k = row["k"], n = row["n"], nonzeros = row["nonzeros"];
  const double element_bytes = element == "f32" ? 4 : 2;
  const Json& ours = row["ours"];
  const double weights =
      ours.contains("weights") ? ours["weights"]["bytes"].get<double>() : nonzeros * (element_bytes + 2);
  const double memory = (weights + (m + k) * n * element_bytes) / memory_bytes_us;
  const std::string family = ours.value("family", "");
  const double products = element == "f32" ? 3 : 1;
  if (family.starts_with("sparse_tensor")) return std::max(memory, 2 * m * k * n * products / sparse_tensor_flops_us);
  if (family.starts_with("unpack")) return std::max(memory, 2 * m * k * n * products / tensor_flops_us);
  return std::max(memory, nonzeros * n * element_bytes / l1_bytes_us);
}

std::vector<Chart> of_ceiling(const Results& results, std::vector<std::string>& files) {
  std::map<std::string, std::vector<std::pair<double, double>>> families;
  for (const Json* row : measured_rows(results)) {
    const auto times = times_of(*row);
    if (times.contains("ours"))
      families[(*row)["ours"]["family"]].emplace_back(100 * (*row)["sparsity"].get<double>(),
                                                      100 * ceiling_us(*row, results.element()) / times.at("ours"));
  }
  Chart chart{.title = results.title("share of the ceiling"),
              .note = results.note(),
              .x = {.label = "zeros (%)"},
              .y = {.label = "of the ceiling of memory, L1 or tensor cores (%)"}};
  for (const auto& [family, points] : families)
    chart.series.push_back({.name = family, .points = points, .joined = false});
  if (chart.series.empty() || results.whole["device"]["name"].get<std::string>().find("H200") == std::string::npos)
    return {};
  files.push_back(results.name + "_ceiling");
  return {chart};
}

void write(const std::filesystem::path& folder, const std::string& name, const Chart& chart) {
  const std::filesystem::path path = folder / (name + ".svg");
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << to_svg(chart);
  if (!file.flush())
    fail(ErrorCode::io_failure, "cannot write {}: the folder is missing, full or not writable", path.string());
  std::fputs((path.string() + "\n").c_str(), stdout);
}

/// The number of charts.
std::size_t plot(const std::filesystem::path& source, const std::filesystem::path& folder) {
  const Results results{.name = source.stem().string(), .whole = Json::parse(read_text(source))};
  const std::vector<NamedChart> models = model_charts(results.name, results.whole);
  for (const NamedChart& model : models) write(folder, file_name(model.name), model.chart);
  if (!models.empty()) return models.size();
  if (results.whole["benchmark"] != "spmm")
    fail(ErrorCode::unsupported, "cannot plot {}: it is no result of spmm, decoder or rigl", source.string());
  std::vector<std::string> files;
  std::vector<Chart> charts;
  for (const auto make : {against_sparsity, against_size, of_ceiling})
    for (Chart& chart : make(results, files)) charts.push_back(std::move(chart));
  for (std::size_t i = 0; i < charts.size(); ++i) write(folder, files[i], charts[i]);
  return charts.size();
}

}  // namespace
}  // namespace vostok::bench

int main(int argc, char** argv) {
  using namespace vostok::bench;
  RunOptions options;
  std::vector<std::filesystem::path> sources;
  options.out = "bench/results/plots";
  CLI::App app(
      "Charts of result files: of spmm time against sparsity and against n, and the share of the ceiling; of "
      "decoder speed and memory; of rigl losses. Prints the files it writes.",
      "bench_plot");
  app.add_option("RESULT", sources, "JSON files")->required();
  app.add_option("--out", options.out, "Folder of the SVG files")->capture_default_str();
  return run_program(app, argc, argv, options, [&] {
    std::filesystem::create_directories(options.out);
    std::size_t charts = 0;
    for (const std::filesystem::path& source : sources) charts += plot(source, options.out);
    return charts > 0 ? 0 : 1;
  });
}
