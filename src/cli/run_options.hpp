// The options that every `vostok run` command has.
#pragma once

#include <string>
#include <vector>

#include <vostok/context.hpp>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace vostok::cli {

struct RunOptions {
  std::string matrix = {};               ///< a file; empty: none was named
  std::string random = {};               ///< "ROWSxCOLSxSPARSITY[xCOV]"; empty: none was asked for
  std::string band = {};                 ///< "ROWSxWIDTHxSPARSITY"; empty: none was asked for
  std::vector<std::string> fields = {};  ///< "field=value" of the problem, taken behind every other option (set_fields)
  PlanOptions plan = {};
  std::string device = "auto";
  std::string cache = {};
  bool never_compile = false;
  bool explain = false;
  bool json = false;
};

/// --matrix and --random; `what` is what the operation calls its sparse matrix.
void add_matrix_options(CLI::App& app, RunOptions& options, const std::string& what);

/// --band, beside --matrix and --random.
void add_band_option(CLI::App& app, RunOptions& options);

/// How to plan, where to run, what to print.
void add_run_options(CLI::App& app, RunOptions& options);

}  // namespace vostok::cli
