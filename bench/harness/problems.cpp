#include "bench/harness/problems.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/text.hpp"
#include "sparse/generate.hpp"
#include "sparse/read.hpp"

namespace vostok::bench {

sparse::Csr load_matrix(const std::filesystem::path& data, const Problem& problem, std::uint64_t seed) {
  if (const auto& graph = problem.power_law)
    return sparse::power_law(graph->vertices, graph->vertices, graph->nonzeros, graph->exponent, seed);
  if (!problem.generated) return sparse::read(data / problem.file);
  const Generated& made = *problem.generated;
  return sparse::uniform(made.rows, made.cols, made.sparsity, seed, made.row_variation);
}

std::string label(const Problem& problem) {
  return problem.n == 0 ? problem.file : fmt::format("{} n={}", problem.file, problem.n);
}

std::string group(const Problem& problem) {
  const std::size_t slash = problem.file.find('/');
  return slash == std::string::npos ? "all" : problem.file.substr(0, slash);
}

std::vector<Problem> parse_problems(std::string_view text) {
  std::vector<Problem> problems;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string file;
    if (!(words >> file) || file.starts_with('#')) continue;
    const std::size_t before = problems.size();
    for (std::int64_t n = 0; words >> n;) problems.push_back({.file = file, .n = n});
    const bool positive = std::all_of(problems.begin() + static_cast<std::ptrdiff_t>(before), problems.end(),
                                      [](const Problem& p) { return p.n > 0; });
    if (!words.eof() || problems.size() == before || !positive)
      fail(ErrorCode::invalid_argument,
           "cannot read the problem list: line {}, \"{}\", is not a file and values of N above 0", number, line);
  }
  return problems;
}

std::vector<Problem> power_law_problems() {
  std::vector<Problem> problems;
  for (const std::int64_t vertices : {16384, 65536, 262144})
    for (const double exponent : {0.5, 0.75, 1.0})
      for (const std::int64_t n : {32, 128})
        problems.push_back({.file = fmt::format("power_law/{}/{}", vertices, exponent),
                            .n = n,
                            .power_law = PowerLaw{.vertices = vertices, .nonzeros = 1'000'000, .exponent = exponent}});
  return problems;
}

std::string read_text(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text)
    fail(ErrorCode::io_failure, "cannot read {}: it is not there, or not a file that may be read", path.string());
  return text.str();
}

namespace {

/// Divides the sizes by `times`, and notes that in the name.
void shrink(Problem& problem, std::int64_t times) {
  if (!problem.generated && !problem.power_law) return;
  constexpr std::int64_t least = 16;
  const auto divided = [&](std::int64_t& size, std::int64_t at_least) { size = std::max(at_least, size / times); };
  if (problem.generated) divided(problem.generated->rows, least), divided(problem.generated->cols, least);
  if (problem.power_law) divided(problem.power_law->vertices, least), divided(problem.power_law->nonzeros, least);
  divided(problem.n, 1);
  problem.file += fmt::format("/divided by {}", times);
}

}  // namespace

std::vector<Problem> select(std::vector<Problem> problems, const Selection& selection, const std::string& source) {
  std::erase_if(problems,
                [&](const Problem& problem) { return label(problem).find(selection.filter) == std::string::npos; });
  const auto skipped = std::clamp<std::ptrdiff_t>(selection.skip, 0, std::ssize(problems));
  problems.erase(problems.begin(), problems.begin() + skipped);
  if (selection.most > 0 && std::ssize(problems) > selection.most)
    problems.resize(static_cast<std::size_t>(selection.most));
  if (selection.shrink > 1)
    for (Problem& problem : problems) shrink(problem, selection.shrink);
  if (problems.empty())
    fail(ErrorCode::invalid_argument,
         "cannot run a benchmark: no problem of {} is left by --filter \"{}\" and --skip {}", source, selection.filter,
         selection.skip);
  return problems;
}

std::vector<Problem> read_problems(const std::filesystem::path& list, const Selection& selection) {
  return select(parse_problems(read_text(list)), selection, list.string());
}

}  // namespace vostok::bench
