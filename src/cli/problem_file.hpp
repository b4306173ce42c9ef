// Problem files: what `vostok tune`, `vostok pack` and `vostok doctor` work through, and what a capture writes.
//
// A line is what follows `vostok run` on a command line, with the same options and a shell's quoting (base/words.hpp),
// but nothing is expanded:
//   # Lines that begin like this one are skipped, and blank ones. A path is relative to the file that names it.
//   spmm --matrix layers/0.smtx --n 256 --dtype f16
//   spmm --random 4096x1024x0.95 --n 64 --seed 7
//   attention --band 4096x256x0.95 --n 64 --batch 8
// Options that say how and where to run (--effort, --budget, --device, --cache, --explain, --json) belong to the
// command, not to a line.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/job.hpp"
#include "cli/run_options.hpp"

namespace vostok::cli {

struct ProblemLine {
  int line = 0;             ///< from 1
  std::string text = {};    ///< as it stands in the file, without blanks around it, made printable
  RunOptions options = {};  ///< .matrix, .random, .band, .plan.seed and .plan.family are the line's
                            ///< (cli/matrix_source.hpp makes them a matrix)
  std::unique_ptr<Job> job = {};
};

/// Reads every problem of the file, in order. Errors: io_failure; invalid_argument naming file and line.
std::vector<ProblemLine> read_problem_file(const std::filesystem::path& path);

/// Parses a text in memory; paths are relative to the folder of `path`, which messages name.
std::vector<ProblemLine> parse_problems(std::string_view text, const std::filesystem::path& path);

/// "problems.txt:3"
std::string place_of(const std::filesystem::path& path, const ProblemLine& line);

}  // namespace vostok::cli
