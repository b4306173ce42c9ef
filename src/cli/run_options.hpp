// The options of every `vostok run` command.
#pragma once

#include <string>
#include <vector>

#include <vostok/context.hpp>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace vostok::cli {

struct RunOptions {
  std::string matrix = {};               ///< a file; empty: not given
  std::string random = {};               ///< "ROWSxCOLSxSPARSITY[xCOV]"; empty: not given
  std::string band = {};                 ///< "ROWSxWIDTHxSPARSITY"; empty: not given
  std::vector<std::string> fields = {};  ///< "field=value" of the problem, applied after all other options (set_fields)
  PlanOptions plan = {};
  std::string device = "auto";
  std::string cache = {};
  bool never_compile = false;
  bool explain = false;
  bool json = false;
};

/// Adds --matrix and --random; `what` is the operation's name for its sparse matrix.
void add_matrix_options(CLI::App& app, RunOptions& options, const std::string& what);

/// Adds --band, beside --matrix and --random.
void add_band_option(CLI::App& app, RunOptions& options);

/// Adds the options for planning, devices and output.
void add_run_options(CLI::App& app, RunOptions& options);

}  // namespace vostok::cli
