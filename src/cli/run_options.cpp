#include "cli/run_options.hpp"

#include <CLI/CLI.hpp>

#include "cli/enum_option.hpp"
#include "cli/number_option.hpp"

namespace vostok::cli {

void add_matrix_options(CLI::App& app, RunOptions& options, const std::string& what) {
  CLI::Option* matrix = app.add_option("--matrix", options.matrix,
                                       what +
                                           ": a .smtx (DLMC), .mtx (Matrix Market), .npy (dense) or .npz (SciPy) file, "
                                           "or one of the first three as .gz")
                            ->type_name("FILE");
  app.add_option("--random", options.random,
                 what +
                     ": random, with this share of zeros, e.g. 2048x512x0.9; with a coefficient of variation of the "
                     "row lengths: 2048x512x0.9x0.5")
      ->type_name("ROWSxCOLSxSPARSITY[xCOV]")
      ->excludes(matrix);
}

void add_band_option(CLI::App& app, RunOptions& options) {
  app.add_option("--band", options.band,
                 "The paper's attention mask, causal: a dense band, and elements beyond it that grow rarer with the "
                 "distance, e.g. 4096x256x0.95")
      ->type_name("ROWSxWIDTHxSPARSITY")
      ->excludes(app.get_option("--matrix"))
      ->excludes(app.get_option("--random"));
}

void add_run_options(CLI::App& app, RunOptions& options) {
  app.add_option("--set", options.fields,
                 "A field of the problem by its name in the API, e.g. math=strict; several may be given")
      ->type_name("FIELD=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.option_defaults()->group("The run");
  add_enum_option(app, "--effort", options.plan.effort,
                  "How hard to plan: heuristic, cached (use what was tuned before), quick or full (tune now)");
  add_default_number_option(app, "--budget", options.plan.budget_seconds, second_limits(),
                            "Of quick and full: after these seconds no measurement starts")
      ->type_name("SECONDS");
  app.add_option("--family", options.plan.family, "Consider this kernel family alone, e.g. row_tile")
      ->type_name("NAME");
  app.add_option("--device", options.device, "auto (a GPU if there is one), cuda:I or emulator")
      ->type_name("DEVICE")
      ->capture_default_str();
  add_default_number_option(app, "--seed", options.plan.seed, Limits<std::uint64_t>{},
                            "Of the random matrix, the operands and the tuner")
      ->type_name("SEED");
  app.add_option("--cache", options.cache, "Folder of the tuning and code caches instead of the default")
      ->type_name("FOLDER");
  app.add_flag("--never-compile", options.never_compile,
               "Call no compiler: fail, naming what is missing, where a kernel is not stored");
  app.add_flag("--explain", options.explain,
               "Tell which candidates there were, how fast, and why each other one was rejected");
  app.add_flag("--json", options.json, "Print one JSON object instead of the report");
}

}  // namespace vostok::cli
