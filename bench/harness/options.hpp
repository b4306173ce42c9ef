// Options shared by the benchmarks over problem lists.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <vostok/context.hpp>

#include "bench/harness/problems.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace vostok::bench {

/// The options of every benchmark.
struct RunOptions {
  std::string device = "auto";
  std::filesystem::path cache = {};  ///< empty: the library's default folder
  std::filesystem::path out = {};    ///< empty: no JSON file
  std::string commit = {};           ///< empty: the commit of this build
  std::string command = {};          ///< the command line, for the record
};

/// The options of programs that compile kernels and run none; of those of RunOptions they have --out and --commit.
struct CompileOptions : RunOptions {
  std::vector<std::string> families = {};  ///< empty: all
  int threads = 0;                         ///< 0: one per core
  double deadline_seconds = 0;             ///< 0: none
};

/// The additional options of benchmarks over a list of problems.
struct ListOptions : RunOptions {
  std::filesystem::path data = "../shared/data/dlmc";
  std::filesystem::path problems = {};  ///< empty: problems.txt in the data folder
  Selection selection = {};
  Effort effort = Effort::full;
  Policy policy = Policy::warm;
  double budget_seconds = 10;   ///< for tuning one problem
  double deadline_seconds = 0;  ///< no problem starts after this; 0: none
  bool apart = false;           ///< calls do not overlap: PlanOptions::overlap_calls
  int rounds = 9;
  std::uint64_t seed = 1;
};

/// The additional options of benchmarks that compare an operation with others.
struct ComparisonOptions : ListOptions {
  Dtype element = Dtype::f32;
  std::filesystem::path baselines = {};
  bool synthetic = false;  ///< use the generated problems of the baselines instead of the list's
  bool no_peers = false;
  std::vector<std::string> peers = {};  ///< their names; empty: all
};

void add_options(CLI::App& app, RunOptions& options);
void add_options(CLI::App& app, CompileOptions& options);
void add_options(CLI::App& app, ListOptions& options);
void add_options(CLI::App& app, ComparisonOptions& options);

std::vector<Problem> read_problems(const ListOptions& options);
Context open_context(const RunOptions& options, std::shared_ptr<Allocator> allocator = {});

/// Prints one line on stdout: the device, and that the emulator's times say nothing about speed.
void print_device(const DeviceInfo& device);

/// Parses the command line with `app`, runs `body` and returns the exit status. Prints exceptions on stderr.
int run_program(CLI::App& app, int argc, char** argv, RunOptions& options, const std::function<int()>& body);

}  // namespace vostok::bench
