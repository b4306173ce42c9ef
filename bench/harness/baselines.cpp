#include "bench/harness/baselines.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <vector>

#include "base/text.hpp"
#include "bench/harness/problems.hpp"

namespace vostok::bench {

namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  if (!cells.empty() && cells.back().ends_with('\r')) cells.back().pop_back();
  return cells;
}

std::size_t column(const std::vector<std::string>& header, const char* name) {
  const auto position = std::find(header.begin(), header.end(), name);
  if (position == header.end()) fail(ErrorCode::invalid_argument, "cannot read the baselines: there is no column {}", name);
  return static_cast<std::size_t>(position - header.begin());
}

template <class Number>
Number parse_cell(const std::string& cell, int line) {
  Number value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size())
    fail(ErrorCode::invalid_argument, "cannot read the baselines: line {} holds \"{}\" where a number belongs", line, cell);
  return value;
}

std::optional<double> parse_time(const std::string& cell, int line) {
  const auto us = parse_cell<double>(cell, line);
  return us > 0 ? std::optional(us) : std::nullopt;
}

}  // namespace

Baselines Baselines::parse(std::string_view csv) {
  std::istringstream lines{std::string(csv)};
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = split(line);
  const std::size_t file = column(header, "set_or_file"), m = column(header, "m"), k = column(header, "k"), n = column(header, "n");
  const std::size_t sputnik = column(header, "sputnik_f32_us"), cusparse = column(header, "cusparse_f32_us"),
                    cublas = column(header, "cublas_sgemm_us");

  Baselines baselines;
  for (int number = 2; std::getline(lines, line); ++number) {
    const std::vector<std::string> cells = split(line);
    if (cells.empty()) continue;
    if (cells.size() != header.size())
      fail(ErrorCode::invalid_argument, "cannot read the baselines: line {} has {} cells, and the header {}", number, cells.size(), header.size());
    const Key key{cells[file], parse_cell<std::int64_t>(cells[m], number), parse_cell<std::int64_t>(cells[k], number),
                  parse_cell<std::int64_t>(cells[n], number)};
    baselines.cases_[key] = {.sputnik_us = parse_time(cells[sputnik], number),
                             .cusparse_us = parse_time(cells[cusparse], number),
                             .cublas_sgemm_us = parse_time(cells[cublas], number)};
  }
  return baselines;
}

Baselines Baselines::read(const std::filesystem::path& path) { return parse(read_text(path)); }

std::optional<Baseline> Baselines::find(const std::string& file, std::int64_t m, std::int64_t k, std::int64_t n) const {
  const auto position = cases_.find({file, m, k, n});
  if (position == cases_.end()) return std::nullopt;
  return position->second;
}

}  // namespace vostok::bench
