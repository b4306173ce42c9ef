#include "cli/problem_file.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/words.hpp"
#include "cli/commands.hpp"
#include "cli/matrix_source.hpp"
#include "cli/usage_error.hpp"
#include "sparse/text_file.hpp"

namespace vostok::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::array of_the_command = {"--effort",        "--budget",  "--device", "--cache",
                                       "--never-compile", "--explain", "--json"};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

void require_problem_only(const CLI::App& parsed) {
  const CLI::App& operation = *parsed.get_subcommands().front();
  for (const char* option : of_the_command)
    if (operation.get_option(option)->count() > 0)
      fail(ErrorCode::invalid_argument, "{} is an option of the command, not of a problem", option);
}

/// Parses a line with the options of `vostok run`. Errors: invalid_argument.
void parse_line(ProblemLine& line, std::string_view content, const fs::path& folder) {
  CLI::App app("a problem", "problem");
  app.require_subcommand(1);
  add_operations(app, [&](const RunOptions& options, std::unique_ptr<Job> job) {
    line.options = options;
    line.job = std::move(job);
  });
  try {
    std::vector<std::string> words = split_words(content);
    std::reverse(words.begin(), words.end());  // CLI11 expects reverse order
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (app.get_subcommands().empty())
      fail(ErrorCode::invalid_argument, "'{}' does not begin with an operation of `vostok run`", line.text);
    if (error.get_exit_code() == 0)
      fail(ErrorCode::invalid_argument, "--help is no problem");  // --help ends the parsing like an error
    fail(ErrorCode::invalid_argument, "{}", usage_text(app, error));
  }
  require_problem_only(app);
  require_matrix(line.options, *line.job);
  if (!line.options.matrix.empty())
    line.options.matrix = (folder / line.options.matrix).string();  // an absolute path does not change
}

}  // namespace

std::string place_of(const fs::path& path, const ProblemLine& line) {
  return fmt::format("{}:{}", printable(path.string()), line.line);
}

std::vector<ProblemLine> parse_problems(std::string_view text, const fs::path& path) {
  std::vector<ProblemLine> lines;
  int number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view content = trimmed(text.substr(start, end - start));
    start = end + 1;
    ++number;
    if (content.empty() || content.starts_with('#')) continue;
    ProblemLine& line = lines.emplace_back();
    line.line = number;
    line.text = printable(content);
    try {
      parse_line(line, content, path.parent_path());
    } catch (const Error& error) {
      fail(error.code(), "cannot read {}: {}", place_of(path, line), printable(error.what()));
    }
  }
  return lines;
}

std::vector<ProblemLine> read_problem_file(const fs::path& path) {
  return parse_problems(sparse::read_bytes(path), path);
}

}  // namespace vostok::cli
