#include "bench/harness/baselines.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <vector>

#include "base/text.hpp"

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
  if (position == header.end())
    fail(ErrorCode::invalid_argument, "cannot read the baselines: there is no column {}", name);
  return static_cast<std::size_t>(position - header.begin());
}

/// The columns of a problem's cells.
struct Columns {
  std::size_t file, rows, cols, sparsity, row_variation;
  std::optional<std::size_t> n;

  Columns(const std::vector<std::string>& header, const BaselineColumns& wanted)
      : file(column(header, "set_or_file")),
        rows(column(header, wanted.rows)),
        cols(column(header, wanted.cols)),
        sparsity(column(header, "sparsity")),
        row_variation(column(header, "row_cov")) {
    if (wanted.n != nullptr) n = column(header, wanted.n);
  }
};

template <class Number>
Number parse_cell(const std::string& cell, int line) {
  Number value{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size())
    fail(ErrorCode::invalid_argument, "cannot read the baselines: line {} holds \"{}\" where a number belongs", line,
         cell);
  return value;
}

/// One line as a problem, without its times.
struct Line {
  Problem problem;
  std::int64_t rows;
  std::int64_t cols;
};

Line parse_line(const Columns& columns, const std::vector<std::string>& cells, int number) {
  const auto size = [&](std::size_t position) { return parse_cell<std::int64_t>(cells[position], number); };
  Line line{.problem = {.file = cells[columns.file], .n = columns.n ? size(*columns.n) : 0},
            .rows = size(columns.rows),
            .cols = size(columns.cols)};
  if (line.problem.file.ends_with(".smtx")) return line;
  const auto share = [&](std::size_t position) { return parse_cell<double>(cells[position], number); };
  line.problem.generated = {.rows = line.rows,
                            .cols = line.cols,
                            .sparsity = share(columns.sparsity),
                            .row_variation = share(columns.row_variation)};
  line.problem.file += fmt::format("/{}/{}x{}", cells[columns.sparsity], line.rows, line.cols);
  if (line.problem.generated->row_variation > 0)
    line.problem.file += fmt::format("/cov={}", cells[columns.row_variation]);
  return line;
}

}  // namespace

Baselines Baselines::parse(std::string_view csv, const BaselineColumns& wanted) {
  std::istringstream lines{std::string(csv)};
  std::string text;
  std::getline(lines, text);
  const std::vector<std::string> header = split(text);
  const Columns columns(header, wanted);
  std::vector<std::size_t> times;
  times.reserve(wanted.times.size());
  for (const BaselineColumns::Time& time : wanted.times) times.push_back(column(header, time.column));

  Baselines baselines;
  for (int number = 2; std::getline(lines, text); ++number) {
    const std::vector<std::string> cells = split(text);
    if (cells.empty()) continue;
    if (cells.size() != header.size())
      fail(ErrorCode::invalid_argument, "cannot read the baselines: line {} has {} cells, and the header {}", number,
           cells.size(), header.size());
    const Line line = parse_line(columns, cells, number);
    const auto [position, is_new] =
        baselines.cases_.try_emplace(Key{line.problem.file, line.rows, line.cols, line.problem.n});
    if (is_new && line.problem.generated) baselines.generated_.push_back(line.problem);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto us = parse_cell<double>(cells[times[i]], number);
      if (us <= 0) continue;
      double& best_us = position->second.try_emplace(wanted.times[i].peer, us).first->second;
      best_us = std::min(best_us, us);
    }
  }
  return baselines;
}

Baselines Baselines::read(const std::filesystem::path& path, const BaselineColumns& columns) {
  return parse(read_text(path), columns);
}

Baseline Baselines::find(const Problem& problem, std::int64_t rows, std::int64_t cols) const {
  const auto position = cases_.find({problem.file, rows, cols, problem.n});
  return position == cases_.end() ? Baseline() : position->second;
}

}  // namespace vostok::bench
