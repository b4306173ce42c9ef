#include "cli/problem_file.hpp"

#include <doctest/doctest.h>

#include "base/temporary_folder.hpp"
#include "cli/matrix_source.hpp"
#include "error_code.hpp"
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
  CHECK(test::code_of([&] { read_problem_file(folder / "absent.txt"); }) == ErrorCode::io_failure);
}

}  // namespace
}  // namespace vostok::cli::testing
