#include "sparse/study.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "sparse/histogram.hpp"
#include "sparse/read.hpp"
#include "unit/sparse/files.hpp"

using namespace vostok;
using namespace vostok::sparse;

namespace {

std::vector<StudyEntry> two_entries() {
  return {{.file = "a.smtx",
           .statistics = {.rows = 4,
                          .cols = 5,
                          .nonzeros = 5,
                          .longest_row = 3,
                          .empty_rows = 2,
                          .mean_row = 1.25,
                          .row_variation = 1}},
          {.file = "b, \"quoted\".mtx",
           .statistics = {.rows = 2, .cols = 10, .nonzeros = 2, .longest_row = 1, .mean_row = 1, .row_variation = 0}}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a spread knows the mean, the median and the range") {
  const Spread odd = spread_of({5, 1, 3});
  CHECK(odd.mean == 3);
  CHECK(odd.median == 3);
  CHECK(odd.smallest == 1);
  CHECK(odd.largest == 5);
  CHECK(spread_of({4, 1, 2, 3}).median == 2.5);
  CHECK(spread_of({}).mean == 0);
}

TEST_CASE("nothing unprintable of a file's name gets into the study's table, and a name is one line") {
  const std::vector<StudyEntry> entries = {{.file = "a\x1b[2J\n.smtx"}};
  CHECK(study_text(entries).find(R"(a\x1b[2J\n.smtx )") != std::string::npos);
  CHECK(study_text(entries).find('\x1b') == std::string::npos);
}

TEST_CASE("the study's table is aligned and ends with the set's summary") {
  const std::vector<std::string> lines = lines_of(study_text(two_entries()));
  REQUIRE(lines.size() == 8);
  CHECK(lines[0].size() == lines[1].size());
  CHECK(lines[1].size() == lines[2].size());
  CHECK(lines[1].find("75.00") != std::string::npos);
  CHECK(lines[4].find("2 matrices") == 0);
  CHECK(lines[5].find("82.500     82.500     75.000     90.000") != std::string::npos);
  CHECK(lines[7].find("row length CoV") == 0);
}

TEST_CASE("the study's CSV quotes file names and has a line per file") {
  const std::vector<std::string> lines = lines_of(study_csv(two_entries()));
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == "a.smtx,4,5,5,0.750000,1.250000,3,2,1.000000,true,false");
  CHECK(lines[2].starts_with("\"b, \"\"quoted\"\".mtx\",2,10,2,0.900000"));
}

TEST_CASE("a histogram counts every value in a bin that holds it") {
  const Histogram linear = histogram_of({50, 70, 70, 80, 90, 95, 98, 100}, 100);
  CHECK_FALSE(linear.logarithmic);
  CHECK(linear.edges.front() <= 50);
  CHECK(linear.edges.back() == 100);
  std::int64_t counted = 0;
  for (const std::int64_t in_bin : linear.counts) counted += in_bin;
  CHECK(counted == 8);
  for (std::size_t bin = 0; bin < linear.counts.size(); ++bin) {
    if (linear.edges[bin] <= 70 && 70 < linear.edges[bin + 1]) CHECK(linear.counts[bin] == 2);
  }
}

TEST_CASE("a wide histogram is logarithmic and reports the zeros that it leaves out") {
  const Histogram wide = histogram_of({0, 1, 2, 600}, 1e9);
  CHECK(wide.logarithmic);
  CHECK(wide.left_out == 1);
  CHECK(wide.edges.front() == 1);
  CHECK(wide.edges.back() == 1024);
  CHECK(wide.counts.front() == 1);
}

TEST_CASE("a histogram of equal values, of zeros and of nothing is legal") {
  const Histogram equal = histogram_of({3, 3, 3}, 100);
  CHECK(equal.counts.size() >= 8);
  CHECK(std::count(equal.counts.begin(), equal.counts.end(), 3) == 1);
  const Histogram zeros = histogram_of({0, 0}, 100);
  CHECK(zeros.edges.front() == 0);
  CHECK(zeros.counts.front() == 2);
  CHECK_FALSE(std::signbit(zeros.ticks.front()));
  CHECK(histogram_of({}, 100).counts.empty());
}

TEST_CASE("steps are 1, 2 or 5 times a power of ten") {
  CHECK(round_step(50, 15) == doctest::Approx(5));
  CHECK(round_step(10, 5) == doctest::Approx(2));
  CHECK(round_step(0.9, 15) == doctest::Approx(0.1));
  CHECK(round_step(0, 5) == 1);
}

TEST_CASE("the study's picture has three labelled histograms and is closed") {
  const std::string svg = study_svg(two_entries());
  CHECK(svg.starts_with("<svg xmlns"));
  CHECK(svg.ends_with("</svg>\n"));
  for (const char* part :
       {"2 matrices", "sparsity (%", "mean row length (nonzeros)", "row length CoV", "number of matrices", "median"}) {
    INFO(part);
    CHECK(count(svg, part) >= 1);
  }
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
  CHECK(count(svg, "<rect class=\"bar\"") == count(svg, "</rect>"));
  CHECK(study_svg({}).ends_with("</svg>\n"));
}

TEST_CASE("the study of the real matrices draws every one of them") {
  std::filesystem::path data;
  if (!testing::find_data(data)) return;
  std::vector<StudyEntry> entries;
  for (const auto& file : testing::files_below(data / "dlmc", ".smtx")) {
    const Csr csr = read(file);
    entries.push_back({.file = file.filename().string(),
                       .statistics = statistics(csr.rows, csr.cols, csr.row_offsets, csr.column_indices)});
  }
  CHECK(entries.size() == 80);
  const std::string svg = study_svg(entries);
  CHECK(count(svg, "class=\"median\"") == 3);
  CHECK(svg.find("nan") == std::string::npos);
}
