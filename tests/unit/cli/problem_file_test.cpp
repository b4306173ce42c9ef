#include "cli/problem_file.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/printable.hpp"
#include "base/temporary_folder.hpp"
#include "cli/matrix_source.hpp"
#include "error_code.hpp"
#include "plan/capture.hpp"
#include "sparse/generate.hpp"
#include "unit/cli/tool_process.hpp"

namespace vostok::cli::testing {
namespace {

TEST_CASE("a problem file holds a line for each problem, with the options of vostok run") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "my layers");
  folder.write("my layers/a.smtx", "2, 3, 3\n0 2 3\n0 2 1\n");
  const auto file = folder.write("problems.txt",
                                 "# a comment\n"
                                 "\n"
                                 "  spmm --random 64x32x0.5 --n 8 --dtype f16 --seed 7 --family row_tile\r\n"
                                 "sddmm --matrix \"my layers/a.smtx\" --n 16\n"
                                 "depthwise --channels 4 --height 9");
  const std::vector<ProblemLine> lines = read_problem_file(file);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].line == 3);
  CHECK(lines[0].text == "spmm --random 64x32x0.5 --n 8 --dtype f16 --seed 7 --family row_tile");
  CHECK(lines[0].options.plan.seed == 7);
  CHECK(lines[0].options.plan.family == "row_tile");
  CHECK(std::string(lines[0].job->operation()) == "spmm");
  CHECK(contains(lines[0].job->describe({.rows = 64, .cols = 32}).problem, "C[64,8] = A[64,32] B[32,8], f16"));
  CHECK(place_of(file, lines[1]) == file.string() + ":4");
  CHECK(load_matrix(lines[1].options, *lines[1].job).cols == 3);
  CHECK_FALSE(lines[2].job->masked());
}

TEST_CASE("a line of a problem file that is not right is refused with file, line and reason") {
  const TemporaryFolder folder;
  const auto refuse = [&](const std::string& line, const std::string& reason) {
    const auto file = folder.write("problems.txt", "depthwise --channels 4 --height 9\n\n" + line + "\n");
    std::string sentence;
    CHECK(test::code_of([&] { read_problem_file(file); }, &sentence) == ErrorCode::invalid_argument);
    CAPTURE(line);
    CAPTURE(sentence);
    CHECK(contains(sentence, file.string() + ":3: "));
    CHECK(contains(sentence, reason));
  };
  refuse("spmm --random 64x32x0.5", "--n");
  refuse("fly --n 8", "fly");
  refuse("spmm --n 8", "--matrix FILE or --random");
  refuse("spmm --random 64x32 --n 8", "'64x32'");
  refuse("spmm --random 64x32x0.5 --n 8 --dtype f8", "'f8'");
  refuse("spmm --random 64x32x0.5 --n 8 --device emulator", "--device is an option of the command");
  refuse("spmm --random 64x32x0.5 --n 8 --json", "--json is an option of the command");
  refuse("spmm --help", "--help is no problem");
  refuse("attention --band 12 --n 8", "'12'");
  refuse("spmm --matrix 'a.smtx --n 8", "a quote (') is not closed");
  refuse("spmm --matrix a.smtx --n \x1b[2J", "\\x1b[2J");
  refuse("\x1b[2J", "'\\x1b[2J' does not begin with an operation");
  CHECK(test::code_of([&] { read_problem_file(folder / "absent.txt"); }) == ErrorCode::io_failure);
}

TEST_CASE("a path in a problem file is quoted as in a shell, also behind an equals sign") {
  const TemporaryFolder folder;
  folder.write("it's my 1$.smtx", "2, 3, 3\n0 2 3\n0 2 1\n");
  const std::string text = R"(spmm --n 8 --matrix "it's my 1\$.smtx"
spmm --n 8 --matrix=it\'s\ my\ 1$.smtx
spmm --n 8 --matrix $'it\'s my 1\x24.smtx'
spmm --n 8 '--matrix=it'"'s my 1"$.smtx)";
  const std::vector<ProblemLine> lines = parse_problems(text, folder / "problems.txt");
  REQUIRE(lines.size() == 4);
  for (const ProblemLine& line : lines) CHECK(load_matrix(line.options, *line.job).cols == 3);
}

TEST_CASE("what a capture writes is read back, whatever the names") {
  const auto logger = std::make_shared<Logger>([](LogLevel, std::string_view text) { FAIL_CHECK(text); });
  const Context context(
      Options{.device = "emulator", .cache = {.enabled = false}, .log = [](LogLevel, std::string_view) {}});
  const sparse::Csr matrix = sparse::uniform(32, 16, 0.5, 1);
  const Topology topology = context.topology(matrix.view());
  const auto check = [&](const std::string& in, const std::string& name) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder / in / name;
    CAPTURE(printable(file.string()));
    std::filesystem::create_directories(file.parent_path());
    plan::Capture capture(file, logger);
    capture.add("spmm --n 8", "", topology);
    capture.add("spmm --n 8", "row_tile", topology);
    capture.add("depthwise --channels 4 --height 9", "", {});
    const std::vector<ProblemLine> lines = read_problem_file(file);
    REQUIRE(lines.size() == 3);
    for (const ProblemLine& line : lines) CHECK(printable(line.text) == line.text);
    CHECK(load_matrix(lines[0].options, *lines[0].job).column_indices == matrix.column_indices);
    CHECK(lines[1].options.plan.family == "row_tile");
  };
  check(".", "problems.txt");
  for (const char* name : {"my problems",  "-n",         "--matrix=x", "#",        "a\nb",
                           "a\rb\tc ",     " ",          "\"",         "'",        "\\",
                           "\\n",          "$HOME`id`!", "a'b\"c d",   "\xff\xfe", "\x1b[2J",
                           "\u00e4\u202e", "{1,2}",      "[a]",        "~",        "a=b;c&d|e<f>g(h)*?"}) {
    check(name, "problems.txt");
    check(name, name);
  }
  constexpr unsigned seed = 31;
  MESSAGE("seed ", seed);
  std::mt19937 random(seed);
  const auto random_name = [&] {
    std::string name(1 + random() % 12, ' ');
    for (char& letter : name)
      letter = static_cast<char>(random() % 2 == 0 ? "\"'\\$`!# \n-=\t\r["[random() % 14] : 1 + random() % 255);
    std::replace(name.begin(), name.end(), '/', '"');
    return name == "." || name == ".." ? "..." : name;
  };
  for (int i = 0; i < 200; ++i) check(random_name(), random_name());
}

}  // namespace
}  // namespace vostok::cli::testing
