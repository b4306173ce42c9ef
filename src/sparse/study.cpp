#include "sparse/study.hpp"

#include <algorithm>
#include <numeric>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace vostok::sparse {
namespace {

std::string table_row(const std::string& file, std::size_t width, const TopologyStatistics& of) {
  return fmt::format("{:<{}} {:>9} {:>9} {:>11} {:>10.2f} {:>10.2f} {:>8} {:>8} {:>7.3f}\n", file, width, of.rows,
                     of.cols, of.nonzeros, 100 * of.sparsity(), of.mean_row, of.longest_row, of.empty_rows,
                     of.row_variation);
}

template <class Value>
std::string summary_row(const char* name, const std::vector<StudyEntry>& entries, Value value) {
  std::vector<double> values;
  for (const StudyEntry& entry : entries) values.push_back(value(entry.statistics));
  const Spread spread = spread_of(values);
  return fmt::format("{:<28} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f}\n", name, spread.mean, spread.median,
                     spread.smallest, spread.largest);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) quoted += character == '"' ? "\"\"" : std::string(1, character);
  return quoted + '"';
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return {.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size()),
          .median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2,
          .smallest = values.front(),
          .largest = values.back()};
}

std::string study_text(const std::vector<StudyEntry>& entries) {
  std::size_t width = 4;
  for (const StudyEntry& entry : entries) width = std::max(width, printable(entry.file).size());
  std::string text = fmt::format("{:<{}} {:>9} {:>9} {:>11} {:>10} {:>10} {:>8} {:>8} {:>7}\n", "file", width, "rows",
                                 "cols", "nonzeros", "sparsity %", "mean row", "longest", "empty", "row CoV");
  for (const StudyEntry& entry : entries) text += table_row(printable(entry.file), width, entry.statistics);
  text += fmt::format("\n{:<28} {:>10} {:>10} {:>10} {:>10}\n",
                      fmt::format("{} {}", entries.size(), entries.size() == 1 ? "matrix" : "matrices"), "mean",
                      "median", "min", "max");
  text += summary_row("sparsity (%)", entries, [](const TopologyStatistics& of) { return 100 * of.sparsity(); });
  text += summary_row("mean row length (nonzeros)", entries, [](const TopologyStatistics& of) { return of.mean_row; });
  text += summary_row("row length CoV", entries, [](const TopologyStatistics& of) { return of.row_variation; });
  return text;
}

std::string study_csv(const std::vector<StudyEntry>& entries) {
  std::string csv =
      "file,rows,cols,nonzeros,sparsity,mean_row,longest_row,empty_rows,row_variation,sorted,duplicates\n";
  for (const auto& [file, of] : entries) {
    csv += fmt::format("{},{},{},{},{:.6f},{:.6f},{},{},{:.6f},{},{}\n", csv_field(file), of.rows, of.cols, of.nonzeros,
                       of.sparsity(), of.mean_row, of.longest_row, of.empty_rows, of.row_variation, of.sorted,
                       of.duplicates);
  }
  return csv;
}

}  // namespace vostok::sparse
